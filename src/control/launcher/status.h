#pragma once

#include <optional>

#include "control/context.h"

namespace berth::control {

// What the world is told of an instance; nullopt if nobody asks for it.
std::optional<model::InstanceStatus> status_of(const Context& context,
                                               const model::InstanceKey& key);

// The same, as it was published last: after the pass that publishes, and without its cost.
const model::InstanceStatus* published_status(const Context& context,
                                              const model::InstanceKey& key);

}  // namespace berth::control
