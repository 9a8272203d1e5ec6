#pragma once

#include <string>
#include <vector>

#include "base/time.h"

namespace berth::sim {

class World;

struct Settling {
  std::vector<std::string> missing;  // what is not as desired; empty = settled
  Time since{};                      // since when all is as desired
};

// Runs on until all is as desired and has been so for a while, or the deadline has passed.
Settling settle(World& world, Duration deadline);

// Settles within the bound that is promised, and then does nothing: anything else is a violation.
void settle_and_rest(World& world);

}  // namespace berth::sim
