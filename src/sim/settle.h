#pragma once

#include <string>
#include <vector>

#include "base/time.h"

namespace berth::sim {

class World;

// Runs on until all is as desired and has been so for a while. What was missing at the deadline;
// empty = settled.
std::vector<std::string> settle(World& world, Duration deadline);

// Settles within the bound that is promised, and then does nothing: anything else is a violation.
void settle_and_rest(World& world);

}  // namespace berth::sim
