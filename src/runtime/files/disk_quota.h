#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/quantity.h"
#include "base/result.h"

// Directories that the file system holds to a size: project quotas of ext4 and xfs.
namespace berth::runtime {

// Why the file system of this directory cannot do it, in words for people; "" if it can.
std::string why_no_quotas(const std::filesystem::path& directory);

// Counts what is below the directory from now on as the project's, which must not use more than
// this; nullopt: as much as it likes. What is in the directory already keeps its old project.
Result<void> set_quota(const std::filesystem::path& directory, std::uint32_t project,
                       std::optional<Bytes> limit);

}  // namespace berth::runtime
