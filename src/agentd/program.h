#pragma once

#include <string>
#include <vector>

namespace berth::agentd {

// The program berth-agent; gives its exit code. 0: ended as told; 1: it failed; 2: it was called
// wrongly.
int run_program(const std::vector<std::string>& arguments);

}  // namespace berth::agentd
