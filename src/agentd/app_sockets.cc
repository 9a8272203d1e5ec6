#include "agentd/app_sockets.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "trust/digest.h"

namespace berth::agentd {
namespace {

namespace fs = std::filesystem;

constexpr char kSocketFile[] = "session.sock";
constexpr std::size_t kNameDigits = 24;  // enough that no two are the same

// Whatever the umask says.
bool make_passable(const fs::path& directory) {
  if (::mkdir(directory.c_str(), 0711) != 0) return errno == EEXIST;
  return ::chmod(directory.c_str(), 0711) == 0;
}

}  // namespace

AppSockets::AppSockets(fs::path base) : base_(std::move(base)) { make_passable(base_); }

fs::path AppSockets::path_of(const model::InstanceKey& key) const {
  return base_ / trust::sha256(model::to_string(key)).substr(0, kNameDigits) / kSocketFile;
}

Result<void> AppSockets::make_room(const model::InstanceKey& key) const {
  const fs::path directory = path_of(key).parent_path();
  if (make_passable(base_) && make_passable(directory)) return {};
  return Error{Code::Unavailable,
               fmt::format("cannot make {}: {}", directory.string(), std::strerror(errno))};
}

void AppSockets::remove(const model::InstanceKey& key) const {
  std::error_code ignored;
  fs::remove_all(path_of(key).parent_path(), ignored);
}

void AppSockets::remove_all_but(const std::vector<model::InstanceKey>& living) const {
  std::set<fs::path> kept;
  for (const model::InstanceKey& key : living) kept.insert(path_of(key).parent_path());
  std::error_code error;
  std::vector<fs::path> stale;
  for (fs::directory_iterator at(base_, error), end; !error && at != end; at.increment(error)) {
    if (!kept.contains(at->path())) stale.push_back(at->path());
  }
  for (const fs::path& directory : stale) fs::remove_all(directory, error);
}

}  // namespace berth::agentd
