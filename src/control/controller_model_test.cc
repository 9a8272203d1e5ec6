#include <gtest/gtest.h>

#include "control/controller.h"
#include "control/testing/describe.h"
#include "control/testing/disk.h"
#include "control/testing/history.h"

namespace berth::control {
namespace {

constexpr std::uint64_t kHistories = 300;
constexpr int kSteps = 150;

Config walking(Walk walk) {
  Config config;
  config.walk = walk;
  config.confirm_timeout = 120s;  // short, so that histories get there
  config.run_timeout = 90s;
  config.usage_window = 10s;
  config.uids = {1, 12};
  config.networks = {{0x0a000000}, 27};  // two networks of 14 addresses: they run out
  config.network_prefix = 28;
  config.rollout_timeout = 20s;
  config.cache_ttl = 40s;
  config.write_down_with_others = 5s;
  config.write_down_at_latest = 30s;
  return config;
}

// Feeds one history to both; false at the first difference.
bool agree(std::uint64_t seed) {
  History history(seed);
  Durable disk;
  std::optional<Controller> dirty(std::in_place, walking(Walk::Dirty), disk);
  std::optional<Controller> everything(std::in_place, walking(Walk::Everything), disk);
  std::optional<Time> wake_at;
  for (int step = 0; step < kSteps; ++step) {
    history.pass_time(wake_at);
    const std::vector<Event> batch = history.next_batch();
    Effects fast = dirty->step(history.now(), batch);
    const Effects slow = everything->step(history.now(), batch);
    wake_at = fast.wake_at;
    apply_writes(disk, fast.writes);
    const bool same = fast == slow && dirty->durable() == everything->durable();
    EXPECT_TRUE(same) << "seed " << seed << ", step " << step << "\n"
                      << testing::PrintToString(describe(fast)) << "\n"
                      << testing::PrintToString(describe(slow));
    EXPECT_TRUE(disk == dirty->durable()) << "seed " << seed << ", step " << step;
    if (testing::Test::HasFailure()) return false;
    history.deliver(fast.commands);
    if (history.wants_restart()) {
      dirty.emplace(walking(Walk::Dirty), disk);
      everything.emplace(walking(Walk::Everything), disk);
      history.restarted();
    }
  }
  return true;
}

TEST(WalkDirty, HasTheSameEffectsAsWalkEverything) {
  const char* only = std::getenv("BERTH_SEED");  // to look at one
  if (only != nullptr) {
    agree(std::strtoull(only, nullptr, 10));
    return;
  }
  for (std::uint64_t seed = 1; seed <= kHistories; ++seed) {
    if (!agree(seed)) return;
  }
}

}  // namespace
}  // namespace berth::control
