#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/show/console.h"
#include "cli/show/json_text.h"
#include "placement/cluster/batch.h"
#include "placement/cluster/cluster.h"

// What a simulation has come to, for people and for programs.
namespace berth::cli {

// How many nodes are loaded by how many tenths of what they have; whole and above is the last.
using LoadCounts = std::array<std::uint64_t, 10>;

struct LoadOfNodes {
  LoadCounts cpu{};
  LoadCounts ram{};
};

// By what instances hold, as `berth plan` shows it.
LoadOfNodes load_of_nodes(const placement::Cluster& cluster);

struct SimulationView {
  std::uint64_t nodes = 0;
  std::vector<std::string> like;  // what they are copies of; none: they are as described
  placement::BatchOutcome outcome;
  LoadOfNodes load;
  double seconds = 0;
  std::vector<std::string> files;  // that it was read from
};

// Without the time it took, so that the same documents give the same text.
std::string simulation_text(const SimulationView& view, const Style& style);
// "Took 1.2 s: 800000 instances per second."
std::string time_taken_line(const SimulationView& view);
Json json_of(const SimulationView& view);

}  // namespace berth::cli
