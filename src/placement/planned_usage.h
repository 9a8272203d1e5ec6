#pragma once

#include <cstddef>
#include <vector>

#include "model/node.h"
#include "placement/amounts.h"
#include "placement/ask.h"

namespace berth::placement {

// What instances use, or will use: measured, or what they ask for while nothing is known.
model::Usage expected_usage(const Ask& request, const Amounts& asked);

// How much of each node will be used when a plan is carried out: what was measured of it, without
// what leaves, with what comes. Copies are cheap enough to try things out on.
class PlannedUsage {
 public:
  explicit PlannedUsage(const std::vector<SnapshotNode>& nodes);

  void leave(std::size_t node, const model::Usage& usage) { used_[node] = used_[node] - usage; }
  void come(std::size_t node, const model::Usage& usage) { used_[node] = used_[node] + usage; }

  const model::Usage& of(std::size_t node) const { return used_[node]; }

 private:
  std::vector<model::Usage> used_;
};

}  // namespace berth::placement
