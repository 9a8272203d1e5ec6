#pragma once

#include <map>
#include <vector>

#include "runtime/runtime.h"
#include "runtime/supervision/supervisor.h"

namespace berth::runtime {

// What the processes of these runs have used, by instance: processor time and memory.
std::map<model::InstanceKey, Consumption> consumption_of(const std::vector<LiveRun>& runs);

}  // namespace berth::runtime
