#pragma once

#include <vector>

#include "control/durable.h"
#include "control/events.h"

namespace berth::control {

// What a store would hold after the writes of a step.
void apply_writes(Durable& disk, const std::vector<Write>& writes);

}  // namespace berth::control
