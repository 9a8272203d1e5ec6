#include "sim/settle.h"

#include <algorithm>

#include "control/controller.h"
#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

// After the last fault. Restarts wait up to a minute, confirmations up to ten.
constexpr Duration kConvergesWithin = 1500s;
constexpr Duration kLookEvery = 100ms;
// What was started last is measured once more, and may be too much for its node.
constexpr Duration kSteadyFor = 25s;
// Overloads are attempted again and again; what moves nobody twice moves nobody.
constexpr Duration kSteadyWhenOverloadedFor = 330s;
constexpr Duration kRest = 90s;
constexpr std::size_t kComplaintsShown = 5;

Duration steady_for(const World& world) {
  if (world.controller() == nullptr) return kSteadyFor;
  const bool overloaded = std::ranges::any_of(world.controller()->nodes(), [&](const auto& entry) {
    return world.controller()->load_of(entry.first).is_overloaded();
  });
  return overloaded ? kSteadyWhenOverloadedFor : kSteadyFor;
}

}  // namespace

Settling settle(World& world, Duration deadline) {
  const Time end = world.now() + deadline;
  std::string noted;
  Settling settling{.missing = {}, .since = world.now()};
  while (world.now() < end && world.violations().empty()) {
    world.run_for(kLookEvery);
    settling.missing = unsettled(world);
    if (!settling.missing.empty()) {
      settling.since = world.now();
      if (settling.missing.front() != noted) world.note("unsettled", settling.missing.front());
      noted = settling.missing.front();
    }
    if (world.now() - settling.since >= steady_for(world)) break;
  }
  return settling;
}

void settle_and_rest(World& world) {
  const std::vector<std::string> missing = settle(world, kConvergesWithin).missing;
  if (!world.violations().empty()) return;
  for (std::size_t i = 0; i < std::min(missing.size(), kComplaintsShown); ++i) {
    world.violate("convergence", missing[i]);
  }
  if (!world.violations().empty()) return;
  world.settled();
  world.run_for(kRest);
  if (world.violations().empty()) world.rested();
}

}  // namespace berth::sim
