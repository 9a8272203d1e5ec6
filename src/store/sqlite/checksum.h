#pragma once

#include <cstdint>
#include <span>
#include <string_view>

// 64 bits that differ when anything differs: against bytes that change on disk by themselves, not
// against people. Part of the format of files.
namespace berth::store {

std::uint64_t checksum(std::string_view key, std::string_view value);
std::uint64_t checksum(std::span<const std::uint64_t> numbers);

}  // namespace berth::store
