#include "runtime/shim/log_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace berth::runtime::shim {
namespace {

constexpr std::size_t kBatchBytes = 16 << 10;

void append_time(std::string& out) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  ::gmtime_r(&now.tv_sec, &parts);
  char text[64];
  const std::size_t length = ::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  out.append(text, length);
  std::snprintf(text, sizeof text, ".%06ldZ", now.tv_nsec / 1000);
  out.append(text);
}

}  // namespace

LogWriter::LogWriter(std::string directory, std::uint64_t bytes_max, std::uint32_t files_max)
    : directory_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      bytes_max_(bytes_max),
      files_max_(std::max<std::uint32_t>(files_max, 1)) {
  if (directory_.is_open()) open_current();
}

void LogWriter::feed(Stream stream, std::string_view bytes) {
  std::string& line = open_lines_[static_cast<int>(stream)];
  while (!bytes.empty()) {
    const std::size_t room = kLineBytesMax - line.size();
    const std::size_t end = bytes.substr(0, room).find('\n');
    if (end != std::string_view::npos) {
      line.append(bytes.substr(0, end));
      put_line(stream, line, 'F');
      line.clear();
      bytes.remove_prefix(end + 1);
      continue;
    }
    const std::string_view part = bytes.substr(0, room);
    line.append(part);
    bytes.remove_prefix(part.size());
    if (line.size() < kLineBytesMax) break;
    put_line(stream, line, 'P');
    line.clear();
  }
  flush();
}

void LogWriter::finish(Stream stream) {
  std::string& line = open_lines_[static_cast<int>(stream)];
  if (!line.empty()) put_line(stream, line, 'F');
  line.clear();
  flush();
}

void LogWriter::put_line(Stream stream, std::string_view text, char form) {
  append_time(batch_);
  batch_.append(stream == Stream::Output ? " stdout " : " stderr ");
  batch_.append(1, form).append(" ").append(text).append("\n");
  if (batch_.size() >= kBatchBytes) flush();
}

void LogWriter::flush() {
  if (batch_.empty()) return;
  if (!is_current()) open_current();  // another run of the instance has rotated it away
  struct stat file {};
  if (file_.is_open() && ::fstat(file_.get(), &file) == 0 && file.st_size > 0 &&
      static_cast<std::uint64_t>(file.st_size) + batch_.size() > bytes_max_) {
    rotate();
  }
  if (file_.is_open()) static_cast<void>(write_all(file_.get(), batch_));
  batch_.clear();
}

bool LogWriter::open_current() {
  file_ = Fd(::openat(directory_.get(), "current",
                      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  return file_.is_open();
}

bool LogWriter::is_current() const {
  struct stat ours {};
  struct stat named {};
  return file_.is_open() && ::fstat(file_.get(), &ours) == 0 &&
         ::fstatat(directory_.get(), "current", &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         ours.st_ino == named.st_ino;
}

void LogWriter::rotate() {
  const Fd lock(::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock.is_open() || ::flock(lock.get(), LOCK_EX) != 0) return;
  if (is_current()) {
    if (files_max_ == 1) ::unlinkat(directory_.get(), "current", 0);
    for (std::uint32_t number = files_max_ - 1; number > 0; --number) {
      const std::string older = std::to_string(number);
      const std::string newer = number == 1 ? "current" : std::to_string(number - 1);
      ::renameat(directory_.get(), newer.c_str(), directory_.get(), older.c_str());
    }
  }
  open_current();
}

}  // namespace berth::runtime::shim
