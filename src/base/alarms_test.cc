#include "base/alarms.h"

#include <gtest/gtest.h>

namespace berth {
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

}  // namespace
}  // namespace berth
