#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/checker.h"
#include "sim/stage.h"
#include "sim/world.h"

namespace berth::sim {

// How a run ended.
struct Outcome {
  std::uint64_t seed = 0;
  std::size_t nodes = 0;
  std::vector<Violation> violations;  // empty: everything held
  std::uint64_t hash = 0;             // of all that happened
  Duration virtual_time{};
  Counts counts;
  std::string replay;  // the command that does exactly this again
};

// Draws a unit and its users from the seed, lets things go wrong for a while, then lets them heal,
// and watches all the time.
Outcome simulate(const Setup& setup);

// Runs twice and demands the same trace.
Outcome simulate_twice(const Setup& setup);

// What a world that has been run has come to.
Outcome outcome_of(const Setup& setup, const Cluster& cluster, const World& world);

// A unit of 16 nodes and its users, with nothing going wrong: what benchmarks time.
Outcome simulate_calm_unit(Duration duration);

}  // namespace berth::sim
