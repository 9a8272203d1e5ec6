#include "runtime/component/rootfs_medium.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/component/crash_points.h"
#include "runtime/shim/files.h"
#include "runtime/supervision/command.h"

namespace berth::runtime {
namespace {

constexpr mode_t kRootMode = 0755;  // until the archive says otherwise

// All files of it, however many.
bool sync_tree(const std::filesystem::path& directory) {
  const shim::Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd.is_open() && ::syncfs(fd.get()) == 0;
}

}  // namespace

std::string RootfsMedium::why_not_ready() const {
  for (const char* program : {"tar", "sha256sum"}) {
    if (find_program(program).empty()) return fmt::format("{} is not installed", program);
  }
  return "";
}

const std::string* RootfsMedium::reference_of(const model::InstanceSpec& spec) const {
  const auto* image = image_of<model::RootfsImage>(spec);
  return image != nullptr ? &image->archive : nullptr;
}

// An archive that is not the one that was meant is not even unpacked.
Started<void> RootfsMedium::write(const Job& job) {
  const auto source = source_of(job.spec);
  if (!source) return tl::unexpected(source.error());
  if (!source->digest.empty()) {
    const auto checked = check_digest(source->path, source->digest, job.patience);
    if (!checked) return checked;
  }
  const auto cleared = clear(job.slot);
  if (!cleared) return cleared;
  pass(CrashPoint::SlotCleared);
  const std::filesystem::path root = path(job.slot);
  if (::mkdir(root.c_str(), kRootMode) != 0) return install_failed("make", root);
  pass(CrashPoint::SlotHalfWritten);
  const auto unpacked =
      run_tool({"tar", "--extract", "--file", source->path.string(), "--directory", root.string(),
                "--preserve-permissions", "--numeric-owner", "--xattrs", "--xattrs-include=*"},
               "InstallFailed", job.patience);
  if (!unpacked) return unpacked;
  pass(CrashPoint::SlotUnsynced);
  if (!sync_tree(root) || !sync()) return install_failed("sync", root);
  return {};
}

// That tar has unpacked all of it, tar has said; that it was the right archive from the first byte
// to the last, its digest says.
Started<void> RootfsMedium::verify(const Job& job) {
  const auto source = source_of(job.spec);
  if (!source) return tl::unexpected(source.error());
  return check_digest(source->path, job.identity, job.patience);
}

}  // namespace berth::runtime
