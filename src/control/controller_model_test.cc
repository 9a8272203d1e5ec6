#include <gtest/gtest.h>

#include <algorithm>

#include "control/controller.h"
#include "control/state.h"
#include "control/testing/describe.h"
#include "control/testing/history.h"

namespace berth::control {
namespace {

constexpr std::uint64_t kHistories = 300;
constexpr int kSteps = 150;

Config walking(Walk walk, std::uint64_t seed) {
  Config config;
  config.walk = walk;
  config.confirm_timeout = 120s;  // short, so that histories get there
  config.run_timeout = 90s;
  config.usage_window = 10s;
  config.uids = {1, seed % 4 == 0 ? 200u : 12u};  // mostly they run out
  config.networks = {{0x0a000000}, 27};           // two networks of 14 addresses: they run out
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
  std::optional<Controller> dirty(std::in_place, walking(Walk::Dirty, seed), disk);
  std::optional<Controller> everything(std::in_place, walking(Walk::Everything, seed), disk);
  std::optional<Time> wake_at;
  for (int step = 0; step < kSteps; ++step) {
    history.pass_time(wake_at);
    const std::vector<Event> batch = history.next_batch();
    Effects fast = dirty->step(history.now(), batch);
    const Effects slow = everything->step(history.now(), batch);
    wake_at = fast.wake_at;
    for (const Write& write : fast.writes) apply(disk, write);
    const bool same = fast == slow && dirty->durable() == everything->durable();
    EXPECT_TRUE(same) << "seed " << seed << ", step " << step << "\n"
                      << testing::PrintToString(describe(fast)) << "\n"
                      << testing::PrintToString(describe(slow));
    EXPECT_TRUE(disk == dirty->durable()) << "seed " << seed << ", step " << step;
    if (testing::Test::HasFailure()) return false;
    history.deliver(fast.commands);
    if (history.wants_restart()) {
      dirty.emplace(walking(Walk::Dirty, seed), disk);
      everything.emplace(walking(Walk::Everything, seed), disk);
      history.restarted();
    }
  }
  return true;
}

// Whether it finds instances by their node, and those that wait, as one that was given all at once.
bool is_indexed(const State& state) {
  const State anew(state.durable());
  return state.waiting() == anew.waiting() &&
         std::ranges::equal(state.requests().all(), anew.requests().all(),
                            [](const auto& a, const auto& b) {
                              return a.first == b.first && *a.second.run == *b.second.run;
                            }) &&
         state.requests().instances() == anew.requests().instances() &&
         std::ranges::all_of(state.durable().nodes, [&](const auto& entry) {
           return state.instances_on(entry.first) == anew.instances_on(entry.first);
         });
}

// Feeds one history, and all that it writes to one that follows; false at the first difference.
bool is_followed(std::uint64_t seed) {
  History history(seed);
  Controller controller(walking(Walk::Dirty, seed), Durable{});
  State follower(Durable{});
  std::optional<Time> wake_at;
  for (int step = 0; step < kSteps; ++step) {
    history.pass_time(wake_at);
    const Effects effects = controller.step(history.now(), history.next_batch());
    wake_at = effects.wake_at;
    for (const Write& write : effects.writes) follower.apply(write);
    EXPECT_TRUE(follower.durable() == controller.durable()) << "seed " << seed << ", step " << step;
    EXPECT_TRUE(is_indexed(follower)) << "seed " << seed << ", step " << step;
    if (testing::Test::HasFailure()) return false;
    history.deliver(effects.commands);
  }
  return true;
}

TEST(Follower, IsWhatItFollows) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    if (!is_followed(seed)) return;
  }
}

TEST(WalkDirty, HasTheSameEffectsAsWalkEverything) {
  const char* only = std::getenv("BERTH_SEED");  // to look at one
  if (only != nullptr) {
    agree(std::strtoull(only, nullptr, 10));
    return;
  }
  const char* more = std::getenv("BERTH_HISTORIES");
  const std::uint64_t last = more == nullptr ? kHistories : std::strtoull(more, nullptr, 10);
  for (std::uint64_t seed = 1; seed <= last; ++seed) {
    if (!agree(seed)) return;
  }
}

}  // namespace
}  // namespace berth::control
