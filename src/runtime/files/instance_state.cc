#include "runtime/files/instance_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/files/directory_tree.h"
#include "runtime/files/run_directory.h"
#include "runtime/shim/files.h"

namespace berth::runtime {
namespace {

namespace fs = std::filesystem;

auto state_failed(std::string message) {
  return tl::unexpected(model::Problem{"StateFailed", std::move(message)});
}

// Beside the directory, out of the instance's reach: the generation that was taken last.
fs::path beside(const fs::path& directory, const char* ending) {
  return directory.string() + ending;
}

std::string taken_beside(const fs::path& directory) {
  return shim::read_file(AT_FDCWD, beside(directory, ".generation").c_str(), 256).value_or("");
}

// What was there goes where the new one was.
bool exchange(const fs::path& fresh, const fs::path& directory) {
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, directory.c_str(), RENAME_EXCHANGE) == 0) {
    return true;
  }
  return errno == ENOENT && ::rename(fresh.c_str(), directory.c_str()) == 0;
}

// What is too large to travel exists nowhere else: the last of its kind is kept. Before anything is
// put in its place, so that whatever happens then, it is not lost.
bool set_aside_if_large(const fs::path& directory, const model::Item& item) {
  const TreeFigures figures = look_at_tree(directory, {});
  const Bytes travels = std::min(model::SavedState::kSizeMax,
                                 item.quotas.state.value_or(model::SavedState::kSizeMax));
  if (figures.complete && figures.size <= travels) return true;
  const fs::path aside = beside(directory, ".replaced");
  std::error_code error;
  fs::remove_all(aside, error);
  if (!error) fs::rename(directory, aside, error);
  return !error;
}

}  // namespace

fs::path storage_directory(const fs::path& state_dir, const model::InstanceKey& key) {
  return state_dir / "storage" / file_name_of(key);
}

fs::path state_directory(const fs::path& state_dir, const model::InstanceKey& key) {
  return state_dir / "state" / file_name_of(key);
}

std::string taken_state(const fs::path& state_dir, const model::InstanceKey& key) {
  return taken_beside(state_directory(state_dir, key));
}

Started<void> take_state(const MachineConfig& config, const model::InstanceSpec& spec,
                         const model::SavedState& state) {
  const fs::path directory = state_directory(config.state_dir, spec.key);
  if (taken_beside(directory) == name_of(state)) return {};
  const fs::path fresh = beside(directory, ".new");
  std::error_code error;
  fs::remove_all(fresh, error);
  const auto made = make_state_directory(config, spec, fresh);
  if (!made) return tl::unexpected(made.error());
  if (const auto unpacked = unpack_tree(state.content, fresh, user_of(spec)); !unpacked) {
    fs::remove_all(fresh, error);
    return state_failed(unpacked.error().message);
  }
  if (!set_aside_if_large(directory, spec.item)) {
    return state_failed(fmt::format("cannot set {} aside", directory.string()));
  }
  if (!exchange(fresh, directory)) {
    return state_failed(fmt::format("{}: {}", directory.string(), std::strerror(errno)));
  }
  fs::remove_all(fresh, error);
  if (!shim::write_file(AT_FDCWD, beside(directory, ".generation").c_str(), name_of(state),
                        shim::Durable::Yes)) {
    return state_failed(fmt::format("{}: {}", directory.string(), std::strerror(errno)));
  }
  return {};
}

}  // namespace berth::runtime
