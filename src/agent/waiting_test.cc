#include "agent/waiting.h"

#include <gtest/gtest.h>

namespace berth::agent {
namespace {

TEST(Waiting, AnInstanceIsFoundByEachRuntimeThatItWaitsFor) {
  Waiting waiting;
  const model::InstanceKey key{model::ItemId{"web"}, model::SubjectId{"vehicle"}, 0};
  const model::RuntimeId crun{"crun"};
  const model::RuntimeId wasm{"wasm"};
  waiting.wait(key, crun);
  waiting.wait(key, wasm);
  EXPECT_EQ(waiting.for_runtime(crun), std::set{key});
  EXPECT_EQ(waiting.for_runtime(wasm), std::set{key});
  waiting.forget(key);
  EXPECT_TRUE(waiting.for_runtime(crun).empty());
  EXPECT_TRUE(waiting.for_runtime(wasm).empty());
  EXPECT_TRUE(waiting.all().empty());
}

}  // namespace
}  // namespace berth::agent
