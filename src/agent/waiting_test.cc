#include "agent/waiting.h"

#include <gtest/gtest.h>

namespace berth::agent {
namespace {

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
