#pragma once

#include "control/context.h"

namespace berth::control {

// The thresholds of all nodes may have changed, and must be looked up again.
void forget_thresholds(Context& context);

// Nothing is known of the node's load any more.
void forget_load(Context& context, const model::NodeId& id, ObservedNode& node);

// When the next attempt to relieve the node is due, if nothing changes until then. Never, while
// nobody knows how much it is used.
Time next_attempt(const Context& context, const ObservedNode& node);

}  // namespace berth::control
