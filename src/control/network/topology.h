#pragma once

#include <set>

#include "control/context.h"

// Which nodes have which networks, and what each must know of them.
namespace berth::control {

// Brings members and nodes up to date after these nodes and instances changed, and has all nodes
// written to that must hear of it.
void update_topology(Context& context, Networks& networks, const std::set<model::NodeId>& nodes,
                     const std::set<model::InstanceKey>& keys);

// What tells one state of a node's networks from another.
NetworkOrder present_network(const Networks& networks, const model::NodeId& node);

// The whole truth for the node, in a fixed order.
model::NodeNetwork network_of(const Durable& durable, const Networks& networks,
                              const model::NodeId& node);

}  // namespace berth::control
