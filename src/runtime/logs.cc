#include "runtime/logs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "runtime/run_directory.h"
#include "runtime/runtimes.h"

namespace berth::runtime {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;
constexpr std::size_t kBatchBytes = 1 << 20;
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
  // All files are read once from the beginning: they are few, and bounded in size.
  std::deque<LogLine> last;
  while (reader.open_oldest_after_current()) {
    while (reader.fill()) {
      for (LogLine& line : reader.take_lines()) {
        last.push_back(std::move(line));
        if (last.size() > lines) last.pop_front();
      }
    }
  }
  reader.first_ = std::move(last);
  return reader;
}

// Goes on with the file that followed the one just read to its end. False: there is none yet.
bool LogReader::open_oldest_after_current() {
  const std::vector<std::filesystem::path> all = files();
  auto next = all.begin();
  for (auto at = all.begin(); at != all.end(); ++at) {
    if (inode_ != 0 && inode_of(*at) == inode_) next = at + 1;
  }
  if (next == all.end()) return false;
  shim::Fd file(::open(next->c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open()) return false;
  inode_ = inode_of(file.get());
  file_ = std::move(file);
  pending_.clear();
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
  std::vector<LogLine> lines(std::make_move_iterator(first_.begin()),
                             std::make_move_iterator(first_.end()));
  first_.clear();
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
    if (is_rotated && open_oldest_after_current()) continue;
    const auto left = until - std::chrono::steady_clock::now();
    if (!lines.empty() || left <= left.zero()) return lines;
    std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(left, kPoll));
  }
}

}  // namespace berth::runtime
