#include "agentd/calibration.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "store/memory/memory_store.h"

namespace berth::agentd {
namespace {

TEST(Calibration, MeasuresWhatACoreOfOurTimeCanDo) {
  const std::int64_t dmips = measure_dmips_per_core();
  EXPECT_GT(dmips, 50);
  EXPECT_LT(dmips, 1'000'000);
}

TEST(Calibration, DoesNotTakeTheLoadOfTheMachineForASlowCore) {
  constexpr unsigned kPerCore = 8;
  constexpr std::int64_t kNoise = 3;  // cores share caches, and some of them more
  const std::int64_t alone = measure_dmips_per_core();
  std::atomic<bool> over = false;
  std::vector<std::jthread> others;
  for (unsigned i = 0; i < kPerCore * std::thread::hardware_concurrency(); ++i) {
    others.emplace_back([&over] {
      while (!over) {
      }
    });
  }
  const std::int64_t in_a_crowd = measure_dmips_per_core();
  over = true;
  EXPECT_GT(in_a_crowd * kNoise, alone);
}

TEST(Calibration, IsDoneOnceAndKept) {
  store::MemoryDisk disk;
  store::MemoryStore store(disk);
  const auto first = calibrate(store, [] { return std::int64_t{12'345}; });
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(first->is_new);
  const auto second = calibrate(store, [] { return std::int64_t{99}; });
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->dmips_per_core, 12'345);
  EXPECT_FALSE(second->is_new);
}

}  // namespace
}  // namespace berth::agentd
