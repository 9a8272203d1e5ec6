#pragma once

#include <map>
#include <vector>

#include "base/random.h"
#include "model/instance.h"
#include "model/node.h"

// The machines of a simulated unit, and what their operator says about them.
namespace berth::sim {

struct Cluster {
  std::vector<model::Node> nodes;
  std::vector<model::NodeConfig> configs;
  std::map<model::NodeId, std::vector<model::InstanceSpec>> preinstalled;  // components only
};

Cluster draw_cluster(Random random, std::size_t node_count);
}  // namespace berth::sim
