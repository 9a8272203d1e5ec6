#include "runtime/files/logs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <thread>
#include <utility>

#include "runtime/files/run_directory.h"
#include "runtime/runtimes.h"

namespace berth::runtime {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;
constexpr std::size_t kBatchBytes = 256 << 10;
constexpr std::size_t kPendingBytesMax = 64 << 10;  // longer is no line of ours
constexpr std::chrono::milliseconds kPoll{200};
constexpr std::uint32_t kFilesMax = 1000;

std::uint64_t inode_of(int fd) {
  struct stat file {};
  return ::fstat(fd, &file) == 0 ? file.st_ino : 0;
}

std::uint64_t inode_of(const std::filesystem::path& path) {
  struct stat file {};
  return ::lstat(path.c_str(), &file) == 0 ? file.st_ino : 0;
}

LogLine missing_some() {
  return {.time = "",
          .from_stderr = true,
          .text = "(berth: output is missing here, it was rotated away before it was read)"};
}

std::string_view take_word(std::string_view& text) {
  const std::size_t end = text.find(' ');
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

}  // namespace

std::filesystem::path log_directory(const std::filesystem::path& state_dir,
                                    const model::InstanceKey& key) {
  return state_dir / "logs" / file_name_of(key);
}

LogLine parse_log_line(std::string_view line) {
  const std::string_view time = take_word(line);
  const std::string_view stream = take_word(line);
  const std::string_view form = take_word(line);
  const bool is_ours = !time.empty() && time.back() == 'Z' &&
                       (stream == "stdout" || stream == "stderr") && (form == "F" || form == "P");
  if (!is_ours) return {};
  return {std::string(time), stream == "stderr", form == "P", std::string(line)};
}

// From the oldest to the newest.
std::vector<std::filesystem::path> LogReader::files() const {
  std::vector<std::filesystem::path> found;
  for (std::uint32_t number = 1; number < kFilesMax; ++number) {
    const auto path = directory_ / std::to_string(number);
    if (inode_of(path) == 0) break;
    found.push_back(path);
  }
  std::reverse(found.begin(), found.end());
  found.push_back(directory_ / "current");
  return found;
}

Result<LogReader> LogReader::open(const std::filesystem::path& directory, std::size_t lines) {
  LogReader reader(directory);
  reader.begin_at_last(lines);
  return reader;
}

// Counts from the newest file on, so that no line need be kept; what is not opened here is begun
// with the oldest file by the first `read`.
void LogReader::begin_at_last(std::size_t lines) {
  if (lines == kAllLines) return;
  std::vector<std::filesystem::path> all = files();
  for (; !all.empty(); all.pop_back()) {
    LogReader counter(directory_);
    if (!counter.open_file(all.back())) continue;
    std::size_t count = 0;
    while (counter.fill()) count += counter.take_lines().size();
    if (count < lines) {
      lines -= count;
      continue;
    }
    ::lseek(counter.file_.get(), 0, SEEK_SET);
    counter.pending_.clear();
    counter.skip(count - lines);
    *this = std::move(counter);
    return;
  }
}

void LogReader::skip(std::size_t lines) {
  while (lines > 0 && fill()) {
    waiting_ = take_lines();
    const std::size_t skipped = std::min(lines, waiting_.size());
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(skipped));
    lines -= skipped;
  }
}

bool LogReader::open_file(const std::filesystem::path& path) {
  shim::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open()) return false;
  inode_ = inode_of(file.get());
  file_ = std::move(file);
  pending_.clear();
  return true;
}

// Goes on with the file that followed the one just read to its end. False: there is none yet.
bool LogReader::open_oldest_after_current() {
  const std::vector<std::filesystem::path> all = files();
  auto next = all.begin();
  for (auto at = all.begin(); at != all.end(); ++at) {
    if (inode_ != 0 && inode_of(*at) == inode_) next = at + 1;
  }
  const bool is_missing_some = inode_ != 0 && next == all.begin();
  if (next == all.end() || !open_file(*next)) return false;
  if (is_missing_some) waiting_.push_back(missing_some());
  return true;
}

bool LogReader::fill() {
  if (!file_.is_open()) return false;
  char part[kReadBytes];
  const ssize_t got = ::read(file_.get(), part, sizeof part);
  if (got <= 0) return false;
  pending_.append(part, static_cast<std::size_t>(got));
  return true;
}

std::vector<LogLine> LogReader::take_lines() {
  std::vector<LogLine> lines;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = pending_.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    LogLine line = parse_log_line(std::string_view(pending_).substr(begin, end - begin));
    if (!line.time.empty()) lines.push_back(std::move(line));
  }
  pending_.erase(0, begin);
  if (pending_.size() > kPendingBytesMax) pending_.clear();
  return lines;
}

std::vector<LogLine> LogReader::read(Duration wait) {
  const auto until = std::chrono::steady_clock::now() + wait;
  std::vector<LogLine> lines = std::exchange(waiting_, {});
  for (std::size_t bytes = 0;;) {
    // Asked before reading: what was written before the rotation is then read before we go on.
    const bool is_rotated = inode_ != inode_of(directory_ / "current");
    while (bytes < kBatchBytes && fill()) {
      for (LogLine& line : take_lines()) {
        bytes += line.text.size() + 64;
        lines.push_back(std::move(line));
      }
    }
    if (bytes >= kBatchBytes) return lines;
    if (is_rotated && open_oldest_after_current()) {
      std::move(waiting_.begin(), waiting_.end(), std::back_inserter(lines));
      waiting_.clear();
      continue;
    }
    const auto left = until - std::chrono::steady_clock::now();
    if (!lines.empty() || left <= left.zero()) return lines;
    std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(left, kPoll));
  }
}

}  // namespace berth::runtime
