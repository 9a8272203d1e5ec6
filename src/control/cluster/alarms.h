#pragma once

#include "control/context.h"

namespace berth::control {

// Has the node looked at no later than `at`.
void arm(Context& context, const model::NodeId& id, ObservedNode& node, Time at);

// Everything on the node must be looked at: its reachability, or all that it says, has changed.
void mark_all_on(Context& context, const model::NodeId& id);

}  // namespace berth::control
