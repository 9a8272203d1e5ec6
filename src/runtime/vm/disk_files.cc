#include "runtime/vm/disk_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "runtime/shim/files.h"
#include "runtime/supervision/command.h"

namespace berth::runtime {
namespace {

namespace fs = std::filesystem;
using shim::Fd;

constexpr std::size_t kNoteBytesMax = 64 << 10;
constexpr Duration kPatience = 1min;
constexpr std::int64_t kSector = 512;

auto disk_failed(std::string message) {
  return tl::unexpected(model::Problem{"StorageFailed", std::move(message)});
}

auto disk_failed(const fs::path& path) {
  return disk_failed(fmt::format("{}: {}", path.string(), std::strerror(errno)));
}

Fd open_disk(const fs::path& path, int flags) {
  return Fd(::open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0600));
}

// Made by us, and under no other name. Nobody there is well, too.
Started<void> check_ours(const fs::path& path) {
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0) return {};
  if (S_ISREG(file.st_mode) && file.st_uid == ::geteuid() && file.st_nlink == 1) return {};
  return disk_failed(path.string() + " was put there by somebody else; remove it");
}

struct Qcow2Header {
  bool is_qcow2 = false;
  bool has_data_elsewhere = false;
};

// Numbers have their highest byte first. The features are only in version 3.
Qcow2Header read_header(const fs::path& path) {
  constexpr std::size_t kLowestByteOfFeatures = 79;
  std::array<unsigned char, 80> bytes{};
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (::read(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    return {};
  }
  return {.is_qcow2 = std::memcmp(bytes.data(), "QFI\xfb", 4) == 0,
          .has_data_elsewhere = bytes[7] >= 3 && (bytes[kLowestByteOfFeatures] & 4) != 0};
}

DiskFile disk_file(const fs::path& path) {
  return {path, read_header(path).is_qcow2 ? DiskFormat::Qcow2 : DiskFormat::Raw};
}

// An overlay on another image would be rubbish.
Started<void> forget_if_on_another(const fs::path& overlay, const fs::path& note,
                                   const std::string& identity) {
  if (shim::read_file(AT_FDCWD, note.c_str(), kNoteBytesMax) == identity) return {};
  if (::unlink(overlay.c_str()) != 0 && errno != ENOENT) return disk_failed(overlay);
  if (!shim::write_file(AT_FDCWD, note.c_str(), identity, shim::Durable::Yes))
    return disk_failed(note);
  return {};
}

// Beside first: a half of an overlay must never be taken for one.
Started<void> make_overlay(const DiskFile& base, const fs::path& overlay) {
  const std::string program = find_program("qemu-img");
  if (program.empty()) {
    return tl::unexpected(model::Problem{
        "RuntimeMissing", "qemu-img is not installed (package qemu-utils): disk images need it"});
  }
  const fs::path fresh = overlay.string() + ".new";
  const auto made =
      run_command({program, "create", "-q", "-f", "qcow2", "-b", base.path.string(), "-F",
                   base.format == DiskFormat::Raw ? "raw" : "qcow2", fresh.string()},
                  kPatience);
  if (!made) return disk_failed(made.error().message);
  if (made->code != 0) return disk_failed(last_words(made->output));
  if (::rename(fresh.c_str(), overlay.c_str()) != 0) return disk_failed(overlay);
  return {};
}

}  // namespace

Started<void> take_storage(const fs::path& storage) {
  const Fd directory(::open(storage.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.is_open() || ::fchown(directory.get(), ::geteuid(), ::getegid()) != 0 ||
      ::fchmod(directory.get(), 0700) != 0) {
    return disk_failed(storage);
  }
  return {};
}

Started<Disk> overlay_on(const fs::path& image, const std::string& identity,
                         const fs::path& storage) {
  const fs::path overlay = storage / "disk.qcow2";
  const fs::path note = storage / "disk.base";
  for (const fs::path& path : {overlay, note}) {
    if (const auto ours = check_ours(path); !ours) return tl::unexpected(ours.error());
  }
  const auto kept = forget_if_on_another(overlay, note, identity);
  if (!kept) return tl::unexpected(kept.error());
  const DiskFile base = disk_file(image);
  if (::access(overlay.c_str(), F_OK) != 0) {
    if (const auto made = make_overlay(base, overlay); !made) return tl::unexpected(made.error());
  }
  const Qcow2Header header = read_header(overlay);
  if (!header.is_qcow2 || header.has_data_elsewhere) {
    return disk_failed(overlay.string() + " is no overlay of ours any more; remove it");
  }
  return Disk{.serial = "disk", .file = {overlay, DiskFormat::Qcow2}, .base = base};
}

Started<Disk> data_disk(const fs::path& storage, Bytes size) {
  const fs::path path = storage / "storage.img";
  if (const auto ours = check_ours(path); !ours) return tl::unexpected(ours.error());
  const Fd file = open_disk(path, O_RDWR | O_CREAT);
  struct stat now {};
  if (!file.is_open() || ::fstat(file.get(), &now) != 0) return disk_failed(path);
  const std::int64_t wanted = size.count() / kSector * kSector;
  if (now.st_size < wanted && ::ftruncate(file.get(), wanted) != 0) return disk_failed(path);
  return Disk{.serial = "storage", .file = {path, DiskFormat::Raw}};
}

}  // namespace berth::runtime
