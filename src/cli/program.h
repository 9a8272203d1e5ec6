#pragma once

#include <string>
#include <vector>

#include "cli/show/console.h"

namespace berth::cli {

// The whole program but for the process around it: parses the arguments (without the program's
// name), runs the verb, prints what went wrong. Returns the exit code.
int run_program(const std::vector<std::string>& arguments, Console console);

}  // namespace berth::cli
