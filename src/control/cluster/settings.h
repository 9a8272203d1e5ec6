#pragma once

#include "control/cluster/observed_node.h"
#include "control/tables.h"

namespace berth::control {

// What the operator says of the node.
model::NodeSettings settings_of(const Durable& durable, const model::NodeId& id,
                                const ObservedNode& node);

}  // namespace berth::control
