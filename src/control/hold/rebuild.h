#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "control/context.h"

// What is asked for, made anew from what the agents run and were told last. What the store still
// knows stays, as far as it does not contradict that: documents keep what agents are not told of
// them (labels, nodes), and what no agent runs is asked for as before.
namespace berth::control {

// What would be asked for again.
struct RebuiltRequest {
  model::ItemKey item;
  model::SubjectId subject;
  std::uint32_t instances = 0;  // that agents run
  std::set<model::NodeId> nodes;

  friend bool operator==(const RebuiltRequest&, const RebuiltRequest&) = default;
};
std::vector<RebuiltRequest> rebuilt_requests(const std::map<model::NodeId, ObservedNode>& nodes);

// Unavailable while a connected node has not said yet what it was told.
Result<void> rebuild(Context& context);

}  // namespace berth::control
