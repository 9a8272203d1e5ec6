#pragma once

#include <string>

#include "model/run.h"
#include "runtime/shim/launch.h"

namespace berth::runtime {

// The variable that marks the processes of a run.
inline constexpr char kRunVariable[] = "BERTH_RUN";
// Its value: no other run on the machine has it.
std::string mark_of(const std::string& tag, const model::InstanceKey& key, const model::RunId& run);

// Ends what may still run of a run whose shim was killed.
void end_leftovers(const shim::Launch& launch);

}  // namespace berth::runtime
