#pragma once

#include "control/context.h"

namespace berth::control {

// Watches over the drain that the record orders, if it does, from now on.
void begin_drain(Context& context, const model::NodeRecord& record);

// Writes down how much time is left until the deadlines, where that is less than what is written by
// `step` or more.
void write_down_drains(Context& context, Duration step);

}  // namespace berth::control
