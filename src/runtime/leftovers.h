#pragma once

#include "runtime/shim/launch.h"

namespace berth::runtime {

// The variable that marks the processes of a run.
inline constexpr char kRunVariable[] = "BERTH_RUN";

// Ends what may still run of a run whose shim was killed.
void end_leftovers(const shim::Launch& launch);

}  // namespace berth::runtime
