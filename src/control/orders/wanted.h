#pragma once

#include <optional>

#include "control/order.h"
#include "model/instance.h"

namespace berth::control {

struct Context;

// What the node shall run of the instance now; nullopt: nothing. Room is not looked at here.
std::optional<Order> wanted_on(const Context& context, const model::NodeId& node,
                               const model::InstanceKey& key);

// The document by which it was told, if that was edited since; nullptr: it was not, or the one
// before is not known any more.
const model::Item* find_former(const Context& context, const model::InstanceKey& key,
                               const Order& told);

// The full order for what was told.
model::InstanceSpec spec_of(const Context& context, const model::InstanceKey& key,
                            const Order& told);

}  // namespace berth::control
