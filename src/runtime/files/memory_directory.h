#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace berth::runtime {

// A directory of this agent for what nobody needs after a while: in memory, wherever the machine
// keeps files there, so that to use it again and again wears out no disk. It is only ours, and made
// if it is not there.
Result<std::filesystem::path> memory_directory(const std::string& tag);

}  // namespace berth::runtime
