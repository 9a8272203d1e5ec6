#include "placement/planned_usage.h"

namespace berth::placement {

model::Usage expected_usage(const Ask& request, const Amounts& asked) {
  if (request.present != nullptr) return request.present->measured;
  return {asked.cpu, asked.ram};
}

PlannedUsage::PlannedUsage(const std::vector<SnapshotNode>& nodes) {
  used_.reserve(nodes.size());
  for (const SnapshotNode& node : nodes) used_.push_back(node.usage.value_or(model::Usage{}));
}

}  // namespace berth::placement
