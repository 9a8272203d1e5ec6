#pragma once

#include <string>

#include "control/controller.h"

namespace berth::controld {

// What nodes and instances use, in the text format of Prometheus: averages, as the agents report
// them. Beyond some thousands of instances only nodes are told of: nobody could look at the rest.
std::string measurements_text(const control::Controller& controller);

}  // namespace berth::controld
