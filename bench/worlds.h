#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <optional>
#include <vector>

#include "placement/ask.h"
#include "placement/snapshot.h"

namespace berth::bench {

// Instances that ask alike.
struct WorldRun {
  placement::Ask request;
  std::size_t count = 0;
};

// Nodes, and what is asked of them in scheduling order. Its parts point to each other.
struct World {
  std::deque<model::NodeInfo> infos;
  std::vector<placement::SnapshotNode> nodes;
  std::deque<model::Item> items;
  std::deque<model::RunRequest> requests;
  std::vector<WorldRun> runs;

  std::size_t instances() const;
};

enum class Bound { Cpu, Ram };  // what runs out first

// 50 zones, 3 priorities of nodes, 2 architectures, 2 types of runtimes, 6 shared resources; so
// many items that ask for different amounts.
World mixed_world(std::size_t nodes, std::size_t instances, std::size_t items = 20,
                  Bound bound = Bound::Cpu);

// One item, and nodes that differ in their names only.
World alike_world(std::size_t nodes, std::size_t instances);

// Half of what is asked for fits nowhere.
World half_unplaceable_world(std::size_t nodes, std::size_t instances);

// The nodes and pods of the openb trace (cluster-trace-gpu-v2023) in that directory: a model is a
// label, gpus are a shared resource, the quality of service is the priority. nullopt: not there.
std::optional<World> openb_world(const std::filesystem::path& directory);

}  // namespace berth::bench
