#include "network/network_namespace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace berth::network {
namespace {

using runtime::shim::Fd;
namespace fs = std::filesystem;

constexpr char kDirectory[] = "/run/netns";

Error namespace_failed(std::string_view what) {
  return {Code::Unavailable, fmt::format("{}: {}", what, std::strerror(errno))};
}

// Shared, so that every mount namespace of the machine sees what is mounted there; as `ip netns`
// does it.
Result<void> make_directory() {
  if (::mkdir(kDirectory, 0755) != 0 && errno != EEXIST) {
    return namespace_failed(fmt::format("cannot make {}", kDirectory));
  }
  if (::mount("", kDirectory, "none", MS_SHARED | MS_REC, nullptr) == 0) return {};
  if (errno != EINVAL || ::mount(kDirectory, kDirectory, "none", MS_BIND | MS_REC, nullptr) != 0 ||
      ::mount("", kDirectory, "none", MS_SHARED | MS_REC, nullptr) != 0) {
    return namespace_failed(fmt::format("cannot mount {}", kDirectory));
  }
  return {};
}

// On a thread of its own, which is in the new namespace from then on.
std::string mount_new(const fs::path& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0444));
  if (!file.is_open())
    return fmt::format("cannot make {}: {}", path.string(), std::strerror(errno));
  if (::unshare(CLONE_NEWNET) != 0) {
    return fmt::format("cannot make a network namespace: {}", std::strerror(errno));
  }
  if (::mount("/proc/thread-self/ns/net", path.c_str(), "none", MS_BIND, nullptr) != 0) {
    return fmt::format("cannot mount {}: {}", path.string(), std::strerror(errno));
  }
  return "";
}

}  // namespace

fs::path NetworkNamespace::path_of(const std::string& name) { return fs::path(kDirectory) / name; }

Result<NetworkNamespace> NetworkNamespace::own() {
  Fd fd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return namespace_failed("no network namespace");
  return NetworkNamespace(std::move(fd));
}

// The file alone, without the mount, is what a crash or another boot has left.
Result<NetworkNamespace> NetworkNamespace::open(const std::string& name) {
  Fd fd(::open(path_of(name).c_str(), O_RDONLY | O_CLOEXEC));
  struct statfs system {};
  const bool is_mounted =
      fd.is_open() && ::fstatfs(fd.get(), &system) == 0 && system.f_type == NSFS_MAGIC;
  if (!is_mounted) return not_found("there is no network namespace " + name);
  return NetworkNamespace(std::move(fd));
}

Result<NetworkNamespace> NetworkNamespace::make(const std::string& name) {
  auto there = open(name);
  if (there) return there;
  TRY(make_directory());
  std::string problem;
  std::thread([&] { problem = mount_new(path_of(name)); }).join();
  if (!problem.empty()) return Error{Code::Unavailable, std::move(problem)};
  return open(name);
}

void NetworkNamespace::remove(const std::string& name) {
  const fs::path path = path_of(name);
  while (::umount2(path.c_str(), MNT_DETACH) == 0) {
  }
  ::unlink(path.c_str());
}

std::vector<std::string> NetworkNamespace::names(std::string_view prefix) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(kDirectory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix)) found.push_back(name);
  }
  return found;
}

int NetworkNamespace::open_socket(int family, int type) const {
  const auto home = own();
  if (!home || !enter()) return -1;
  const int fd = ::socket(family, type, 0);
  const int error = errno;
  CHECK(home->enter(), "a thread can go back to where it came from");
  errno = error;
  return fd;
}

bool NetworkNamespace::enter() const { return ::setns(fd_.get(), CLONE_NEWNET) == 0; }

Error NetworkNamespace::cannot_enter() {
  return {Code::Unavailable, "cannot enter the network namespace"};
}

}  // namespace berth::network
