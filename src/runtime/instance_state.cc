#include "runtime/instance_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "runtime/directory_tree.h"
#include "runtime/run_directory.h"
#include "runtime/shim/files.h"

namespace berth::runtime {
namespace {

namespace fs = std::filesystem;

auto failed(std::string message) {
  return tl::unexpected(model::Problem{"StateFailed", std::move(message)});
}

// Beside the directory, out of the instance's reach: the generation that was taken last.
fs::path beside(const fs::path& directory, const char* ending) {
  return directory.string() + ending;
}

std::uint64_t taken_generation(const fs::path& directory) {
  const auto text = shim::read_file(AT_FDCWD, beside(directory, ".generation").c_str(), 64);
  std::uint64_t generation = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), generation);
  return generation;
}

// What was there goes where the new one was.
bool exchange(const fs::path& fresh, const fs::path& directory) {
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, directory.c_str(), RENAME_EXCHANGE) == 0) {
    return true;
  }
  return errno == ENOENT && ::rename(fresh.c_str(), directory.c_str()) == 0;
}

}  // namespace

fs::path storage_directory(const fs::path& state_dir, const model::InstanceKey& key) {
  return state_dir / "storage" / file_name_of(key);
}

fs::path state_directory(const fs::path& state_dir, const model::InstanceKey& key) {
  return state_dir / "state" / file_name_of(key);
}

Started<void> take_state(const MachineConfig& config, const model::InstanceSpec& spec,
                         const model::SavedState& state) {
  const fs::path directory = state_directory(config.state_dir, spec.key);
  if (taken_generation(directory) >= state.generation) return {};
  const fs::path fresh = beside(directory, ".new");
  std::error_code error;
  fs::remove_all(fresh, error);
  const auto made = make_state_directory(config, spec, fresh);
  if (!made) return tl::unexpected(made.error());
  if (const auto unpacked = unpack_tree(state.content, fresh, user_of(spec)); !unpacked) {
    fs::remove_all(fresh, error);
    return failed(unpacked.error().message);
  }
  if (!exchange(fresh, directory)) {
    return failed(fmt::format("{}: {}", directory.string(), std::strerror(errno)));
  }
  fs::remove_all(fresh, error);
  const std::string generation = std::to_string(state.generation);
  if (!shim::write_file(AT_FDCWD, beside(directory, ".generation").c_str(), generation,
                        shim::Durable::Yes)) {
    return failed(fmt::format("{}: {}", directory.string(), std::strerror(errno)));
  }
  return {};
}

}  // namespace berth::runtime
