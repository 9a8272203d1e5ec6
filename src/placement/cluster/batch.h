#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "model/decision.h"
#include "placement/ask.h"
#include "placement/cluster/cluster.h"

namespace berth::placement {

// What became of instances of one run request that were looked at together.
struct BatchPart {
  const Ask& request;                      // what they ask for; its index is of no meaning
  std::span<const std::uint32_t> indices;  // ascending
  std::span<const Spot> spots;             // one of each, unless they are refused
  std::optional<model::Reason> reason;     // why they are
};

using BatchListener = std::function<void(const BatchPart&)>;

struct BatchRefusal {
  std::uint64_t instances = 0;
  model::InstanceKey first;  // in scheduling order
};

struct BatchOutcome {
  std::uint64_t instances = 0;
  std::uint64_t placed = 0;
  std::uint64_t kept = 0;  // of those, where they run
  std::map<model::Reason, BatchRefusal> refused;

  std::uint64_t refused_count() const { return instances - placed; }
};

// How many instances are asked for.
std::uint64_t instances_of(const std::vector<AskedRun>& runs);

// Gives everybody a place in the cluster as a plan does that displaces nobody: what runs stays if
// it may, and the rest gets the best place in the room that is left, in scheduling order. Of those
// that ask alike nothing is made one by one but their places, so that a million takes seconds. The
// listener hears of everybody once, of the refused at the end: reasons are those of then. REQUIRES:
// nothing is untold.
BatchOutcome place_batch(Cluster& cluster, const std::vector<AskedRun>& runs,
                         const BatchListener& listener = {});

}  // namespace berth::placement
