#include "runtime/files/disk_quota.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/shim/files.h"

namespace berth::runtime {
namespace {

constexpr std::int64_t kBlock = 1024;  // in which the kernel counts limits

shim::Fd open_directory(const std::filesystem::path& directory) {
  return shim::Fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// By a directory of the file system; no device has to be found for it.
int quota_command(int directory, unsigned command, std::uint32_t project, if_dqblk& quota) {
  return static_cast<int>(::syscall(
      SYS_quotactl_fd, directory, QCMD(command, static_cast<unsigned>(PRJQUOTA)), project, &quota));
}

Error failed(const std::filesystem::path& directory, const char* what) {
  return {Code::Unavailable, directory.string() + ": " + what + ": " + std::strerror(errno)};
}

}  // namespace

std::string why_no_quotas(const std::filesystem::path& directory) {
  if (::geteuid() != 0) return "only root can set them";
  const shim::Fd top = open_directory(directory);
  if (!top.is_open()) return directory.string() + ": " + std::strerror(errno);
  if_dqblk quota{};
  if (quota_command(top.get(), Q_GETQUOTA, 0, quota) == 0) return "";
  if (errno == ENOSYS || errno == ENOTTY) {
    return fmt::format("the file system of {} knows no quotas", directory.string());
  }
  return fmt::format(
      "the file system of {} has no project quotas; mount it with the option prjquota",
      directory.string());
}

Result<void> set_quota(const std::filesystem::path& directory, std::uint32_t project,
                       std::optional<Bytes> limit) {
  const shim::Fd top = open_directory(directory);
  fsxattr attributes{};
  if (!top.is_open() || ::ioctl(top.get(), FS_IOC_FSGETXATTR, &attributes) != 0) {
    return failed(directory, "cannot read its project");
  }
  attributes.fsx_projid = project;
  attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
  if (::ioctl(top.get(), FS_IOC_FSSETXATTR, &attributes) != 0) {
    return failed(directory, "cannot set its project");
  }
  if_dqblk quota{};
  const std::int64_t bytes = limit ? limit->count() : 0;
  quota.dqb_bhardlimit = static_cast<std::uint64_t>((bytes + kBlock - 1) / kBlock);
  // To the kernel no blocks are no limit; nobody can have less than one.
  if (limit && quota.dqb_bhardlimit == 0) quota.dqb_bhardlimit = 1;
  quota.dqb_valid = QIF_BLIMITS;
  if (quota_command(top.get(), Q_SETQUOTA, project, quota) != 0) {
    return failed(directory, "cannot set its quota");
  }
  return {};
}

}  // namespace berth::runtime
