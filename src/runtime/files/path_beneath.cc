#include "runtime/files/path_beneath.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/shim/files.h"

namespace berth::runtime {

Result<std::filesystem::path> path_beneath(const std::filesystem::path& directory,
                                           const std::string& named) {
  const std::filesystem::path path(named);
  const std::filesystem::path relative =
      (path.is_absolute() ? path.lexically_relative(directory) : path).lexically_normal();
  const Error leads_out = invalid_input(
      fmt::format("\"{}\" leads out of {}, where images are", named, directory.string()));
  if (relative.empty() || *relative.begin() == "..") return leads_out;
  const shim::Fd root(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.is_open()) return directory / relative;
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH;
  const shim::Fd found(
      static_cast<int>(::syscall(SYS_openat2, root.get(), relative.c_str(), &how, sizeof how)));
  if (!found.is_open() && errno != ENOENT && errno != ENOTDIR) return leads_out;
  return directory / relative;
}

}  // namespace berth::runtime
