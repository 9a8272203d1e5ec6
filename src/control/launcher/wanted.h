#pragma once

#include <optional>

#include "control/context.h"
#include "model/instance.h"

namespace berth::control {

// What the node shall run of the instance now; nullopt: nothing. Room is not looked at here.
std::optional<Told> wanted_on(const Context& context, const model::NodeId& node,
                              const model::InstanceKey& key);

// The document by which it was told, if that was edited since; nullptr: it was not, or the one
// before is not known any more.
const model::Item* find_former(const Context& context, const model::InstanceKey& key,
                               const Told& told);

// The full order for what was told.
model::InstanceSpec spec_of(const Context& context, const model::InstanceKey& key,
                            const Told& told);

}  // namespace berth::control
