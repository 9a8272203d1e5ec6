#pragma once

#include <functional>
#include <string>

#include "controld/api/services.h"

namespace berth::controld {

// The cluster's part of the metrics, counted between two steps.
struct ClusterCounts {
  std::map<std::string, std::uint64_t> instances;  // by state
  std::map<std::string, std::uint64_t> nodes;      // by liveness
  std::uint64_t revision = 0;
  bool settled = false;
  std::optional<std::string> held;  // why it decides nothing
};
// Without the instances, however many there are.
ClusterCounts count_nodes(const control::Controller& controller);
ClusterCounts count(const control::Controller& controller);

// In the text format of Prometheus.
std::string metrics_text(const ClusterCounts& counts, const LoopStats& loop, std::size_t watchers,
                         std::size_t streams, std::size_t connections);

}  // namespace berth::controld
