#pragma once

#include "control/context.h"

namespace berth::control {

// What the operator says of the node.
model::NodeSettings settings_of(const Context& context, const model::NodeId& id,
                                const ObservedNode& node);

}  // namespace berth::control
