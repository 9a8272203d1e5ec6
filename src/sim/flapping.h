#pragma once

#include "sim/run.h"

namespace berth::sim {

// A large unit whose runtimes come and go in bursts, shorter and longer than their graces, while
// users ask for containers and virtual machines. Nothing else goes wrong; of the setup count its
// seed, nodes, and how long.
Outcome simulate_flapping(const Setup& setup);

}  // namespace berth::sim
