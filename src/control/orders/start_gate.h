#pragma once

#include <map>
#include <set>

#include "control/order.h"

namespace berth::control {

struct Context;

// Which of the new instances may be started on a node now. The plan is about the end of all moves;
// on the way there, what is about to leave still takes its room, and a start waits for it. What
// leaves make-before-break and is scheduled after the one that waits is stopped at once, so that no
// two moves can wait for each other.
struct GateAnswer {
  std::set<model::InstanceKey> admitted;
  std::set<model::InstanceKey> postponed;
  std::set<model::InstanceKey> hurried;  // leave the node, and shall stop first
};

// REQUIRES: it is known who leaves the node.
GateAnswer ask_gate(const Context& context, const model::NodeId& id,
                    const std::map<model::InstanceKey, Order>& newcomers);

// Whether a pool instance that is placed there can be started, beside all that leaves the node.
bool has_room_now(const Context& context, const model::NodeId& id, const model::InstanceKey& key,
                  const model::Item& item, const model::RuntimeId& runtime);

}  // namespace berth::control
