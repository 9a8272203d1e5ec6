#pragma once

#include <map>

#include "model/protocol.h"

namespace berth::sim {

// What an agent runs that carries out every command it is sent.
using Specs = std::map<model::InstanceKey, model::InstanceSpec>;

void note(const model::Command& command, Specs& specs);

}  // namespace berth::sim
