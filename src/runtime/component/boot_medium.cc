#include "runtime/component/boot_medium.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "runtime/component/crash_points.h"
#include "runtime/shim/files.h"
#include "runtime/supervision/command.h"

namespace berth::runtime {
namespace {

using shim::Fd;

constexpr std::size_t kPartBytes = 1 << 20;

off_t size_of(const Fd& file) {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 ? status.st_size : 0;
}

// Copies part by part, so that it can be interrupted.
class Copy {
 public:
  Copy(const Fd& from, const Fd& to, const Interrupt& interrupt)
      : from_(from), to_(to), interrupt_(interrupt), half_(size_of(from) / 2) {}

  // False: the cause is in errno.
  bool run() {
    for (;;) {
      if (interrupt_.is_raised()) {
        errno = EINTR;
        return false;
      }
      const ssize_t got = ::read(from_.get(), part_.get(), next_size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return got == 0;
      if (!shim::write_all(to_.get(), {part_.get(), static_cast<std::size_t>(got)})) return false;
      done_ += got;
      if (done_ == half_) pass(CrashPoint::SlotHalfWritten);
    }
  }

 private:
  // A part ends at the half, for who wants to see what a power cut there leaves.
  std::size_t next_size() const {
    const bool is_before_half = done_ < half_;
    const auto left = static_cast<std::size_t>(is_before_half ? half_ - done_ : 0);
    return is_before_half && left < kPartBytes ? left : kPartBytes;
  }

  const Fd& from_;
  const Fd& to_;
  const Interrupt& interrupt_;
  const off_t half_;
  off_t done_ = 0;
  std::unique_ptr<char[]> part_ = std::make_unique<char[]>(kPartBytes);
};

}  // namespace

std::string BootMedium::why_not_ready() const {
  return find_program("sha256sum").empty() ? "sha256sum is not installed" : "";
}

const std::string* BootMedium::reference_of(const model::InstanceSpec& spec) const {
  const auto* image = image_of<model::BootImage>(spec);
  return image != nullptr ? &image->image : nullptr;
}

Started<void> BootMedium::write(const Job& job) {
  const auto source = source_of(job.spec);
  if (!source) return tl::unexpected(source.error());
  const auto cleared = clear(job.slot);
  if (!cleared) return cleared;
  pass(CrashPoint::SlotCleared);
  const std::filesystem::path slot = path(job.slot);
  const Fd from(::open(source->path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!from.is_open()) return install_failed("read", source->path);
  const Fd to(::open(slot.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!to.is_open() || !Copy(from, to, job.patience.interrupt).run())
    return install_failed("write", slot);
  pass(CrashPoint::SlotUnsynced);
  if (::fsync(to.get()) != 0 || !sync()) return install_failed("sync", slot);
  // What is verified shall come from the medium, not from what we remember of it.
  ::posix_fadvise(to.get(), 0, 0, POSIX_FADV_DONTNEED);
  return {};
}

Started<void> BootMedium::verify(const Job& job) {
  return check_digest(path(job.slot), job.identity, job.patience);
}

}  // namespace berth::runtime
