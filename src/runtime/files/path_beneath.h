#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace berth::runtime {

// Where a path that a manifest names is: in the directory or below it, whatever links there are on
// the way. An error if it leads out of it; that there is nothing is for the caller to find out.
Result<std::filesystem::path> path_beneath(const std::filesystem::path& directory,
                                           const std::string& named);

}  // namespace berth::runtime
