#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "runtime/shim/files.h"

namespace berth::runtime {

// One line of an instance's output, or a part of one that is too long to be kept whole.
struct LogLine {
  std::string time;  // RFC 3339, UTC, to the microsecond
  bool from_stderr = false;
  bool is_partial = false;  // the line goes on in the next one of this stream
  std::string text;         // without the end of line; any bytes

  friend bool operator==(const LogLine&, const LogLine&) = default;
};

// Reads what the shim has kept of an instance's output, across rotated files and restarts of the
// instance. What is rotated away while nobody reads is missed, nothing else, and a line says so.
// Holds a batch of lines at most, however long the log is. Used by one thread.
class LogReader {
 public:
  static constexpr std::size_t kAllLines = std::numeric_limits<std::size_t>::max();

  // Begins with the last `lines` lines. No output yet is no error: there may be some later.
  static Result<LogReader> open(const std::filesystem::path& directory, std::size_t lines);

  // The next lines, at most about 256 KiB of them. Waits for some until `wait` has passed; empty:
  // there are none now.
  std::vector<LogLine> read(Duration wait);

 private:
  explicit LogReader(std::filesystem::path directory) : directory_(std::move(directory)) {}

  std::vector<std::filesystem::path> files() const;
  void begin_at_last(std::size_t lines);
  void skip(std::size_t lines);
  bool open_file(const std::filesystem::path& path);
  bool open_oldest_after_current();
  bool fill();
  std::vector<LogLine> take_lines();

  std::filesystem::path directory_;
  shim::Fd file_;
  std::uint64_t inode_ = 0;
  std::string pending_;           // read, and not yet a whole line
  std::vector<LogLine> waiting_;  // read, and not yet given
};

// nullopt-like: an empty time says that these bytes are no line of ours.
LogLine parse_log_line(std::string_view line);

}  // namespace berth::runtime
