#pragma once

#include "control/context.h"

namespace berth::control {

// Watches over the drain that the record orders, if it does, from now on.
void begin_drain(Context& context, const model::NodeRecord& record);

}  // namespace berth::control
