#include "agent/alarms.h"

#include <gtest/gtest.h>

#include "agent/waiting.h"

namespace berth::agent {
namespace {

const Time kStart = Time{} + 100s;

TEST(Alarms, AreTakenInOrderOfTimeAndOnlyOnce) {
  Alarms<int> alarms;
  alarms.set(1, kStart + 3s);
  alarms.set(2, kStart + 1s);
  alarms.set(3, kStart + 9s);
  EXPECT_EQ(alarms.next(), kStart + 1s);
  EXPECT_EQ(alarms.take_due(kStart + 3s), (std::vector{2, 1}));
  EXPECT_TRUE(alarms.take_due(kStart + 3s).empty());
  EXPECT_EQ(alarms.next(), kStart + 9s);
}

TEST(Alarms, AKeyHasOneTime) {
  Alarms<int> alarms;
  alarms.set(1, kStart + 1s);
  alarms.set(1, kStart + 2s);
  EXPECT_TRUE(alarms.take_due(kStart + 1s).empty());
  alarms.set(1, std::nullopt);
  EXPECT_EQ(alarms.next(), std::nullopt);
}

TEST(Bounded, AnyDurationCanBeAddedToATime) {
  EXPECT_EQ(bounded(Duration::min()), Duration::zero());
  EXPECT_GT(kStart + bounded(Duration::max()), kStart);
  EXPECT_EQ(bounded(5s), 5s);
}

TEST(Waiting, AnInstanceWaitsForOneRuntime) {
  Waiting waiting;
  const model::InstanceKey key{model::ItemId{"web"}, model::SubjectId{"vehicle"}, 0};
  const model::RuntimeId crun{"crun"};
  const model::RuntimeId wasm{"wasm"};
  waiting.set(key, crun);
  waiting.set(key, wasm);
  EXPECT_TRUE(waiting.for_runtime(crun).empty());
  EXPECT_EQ(waiting.for_runtime(wasm), std::set{key});
  waiting.set(key, std::nullopt);
  EXPECT_TRUE(waiting.for_runtime(wasm).empty());
  EXPECT_TRUE(waiting.all().empty());
}

}  // namespace
}  // namespace berth::agent
