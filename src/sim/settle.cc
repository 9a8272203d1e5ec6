#include "sim/settle.h"

#include <algorithm>

#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

// After the last fault. Restarts wait up to a minute, confirmations up to ten.
constexpr Duration kConvergesWithin = 900s;
constexpr Duration kSteadyFor = 10s;
constexpr Duration kRest = 90s;
constexpr std::size_t kComplaintsShown = 5;

}  // namespace

std::vector<std::string> settle(World& world, Duration deadline) {
  const Time end = world.now() + deadline;
  Time since = world.now();
  std::vector<std::string> missing;
  while (world.now() < end && world.violations().empty()) {
    world.run_for(1s);
    missing = unsettled(world);
    if (!missing.empty()) since = world.now();
    if (world.now() - since >= kSteadyFor) break;
  }
  return missing;
}

void settle_and_rest(World& world) {
  const std::vector<std::string> missing = settle(world, kConvergesWithin);
  for (std::size_t i = 0; i < std::min(missing.size(), kComplaintsShown); ++i) {
    world.violate("convergence", missing[i]);
  }
  if (!world.violations().empty()) return;
  world.settled();
  world.run_for(kRest);
  if (world.violations().empty()) world.rested();
}

}  // namespace berth::sim
