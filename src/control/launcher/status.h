#pragma once

#include <optional>

#include "control/context.h"

namespace berth::control {

// What the world is told of an instance; nullopt if nobody asks for it.
std::optional<model::InstanceStatus> status_of(const Context& context,
                                               const model::InstanceKey& key);

}  // namespace berth::control
