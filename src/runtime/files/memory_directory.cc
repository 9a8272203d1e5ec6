#include "runtime/files/memory_directory.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace berth::runtime {
namespace {

namespace fs = std::filesystem;

bool is_in_memory(const fs::path& directory) {
  struct statfs system {};
  return ::statfs(directory.c_str(), &system) == 0 && system.f_type == TMPFS_MAGIC;
}

// Others may make directories where all may, and lay in wait there.
bool is_only_ours(const fs::path& directory) {
  struct stat found {};
  return ::lstat(directory.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == ::geteuid() && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool make(const fs::path& directory) {
  return (::mkdir(directory.c_str(), 0755) == 0 || errno == EEXIST) && is_only_ours(directory);
}

}  // namespace

Result<fs::path> memory_directory(const std::string& tag) {
  const fs::path shared = "/dev/shm/berth-" + tag;
  if (!is_in_memory("/run") && is_in_memory("/dev/shm") && make(shared)) return shared;
  const fs::path usual = fs::path("/run/berth") / tag;
  ::mkdir("/run/berth", 0755);
  if (make(usual)) return usual;
  const int error = errno;
  if (is_in_memory("/dev/shm") && make(shared)) return shared;
  return Error{Code::Unavailable,
               fmt::format("cannot make {}: {}", usual.string(), std::strerror(error))};
}

}  // namespace berth::runtime
