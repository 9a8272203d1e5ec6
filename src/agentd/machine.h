#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "base/result.h"
#include "runtime/runtime.h"

// What this machine has, and what is used of it, as the kernel tells.
namespace berth::agentd {

struct Memory {
  Bytes total;
  Bytes available;
};

// The text of /proc/meminfo.
std::optional<Memory> parse_meminfo(std::string_view text);

// The text of /proc/stat: processor time that was not idle, of all cores together.
std::optional<std::chrono::microseconds> parse_stat(std::string_view text,
                                                    std::int64_t ticks_per_second);

std::int64_t processor_count();  // that this process may use
Result<Memory> read_memory();

// Of the whole machine, and of this process; what cannot be read counts as nothing. The network is
// that of the machine, or of the namespace that the agent runs in.
runtime::Consumption consumption_of_machine();
runtime::Consumption consumption_of_this_process();

// The file system that holds this directory; one that is not there yet is where it will be made.
struct FileSystem {
  std::uint64_t device = 0;
  Bytes size;
  Bytes used;
};
Result<FileSystem> file_system_of(const std::filesystem::path& directory);

// Made if it is not there. Instances have users of their own and their directories inside, so all
// may pass through it.
Result<void> make_state_directory(const std::filesystem::path& path);

std::string host_name();

// Whether a program of this name can be found in PATH.
bool is_installed(std::string_view program);

// 128 random bits, in hex.
std::string make_boot_id();

// The directory of the program that runs.
std::filesystem::path own_directory();

}  // namespace berth::agentd
