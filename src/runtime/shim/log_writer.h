#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/shim/files.h"

namespace berth::runtime::shim {

enum class Stream { Output, Error };

// Keeps a program's output, line by line, as "TIME stdout|stderr F|P TEXT" (the form that container
// tools use; P: the line goes on in the next). `current` is the newest file, then come 1, 2, ... .
// Several runs of an instance may write to one directory. What cannot be written, because the disk
// is full say, is dropped: the program itself is never held up for its output's sake.
class LogWriter {
 public:
  static constexpr std::size_t kLineBytesMax = 8 << 10;

  LogWriter() = default;
  LogWriter(std::string directory, std::uint64_t bytes_max, std::uint32_t files_max);

  bool is_open() const { return file_.is_open(); }

  void feed(Stream stream, std::string_view bytes);

  // The stream has ended; its last line may lack its end.
  void finish(Stream stream);

 private:
  void put_line(Stream stream, std::string_view text, char form);
  void flush();
  bool open_current();
  bool is_current() const;
  void rotate();

  Fd directory_;
  Fd file_;
  std::uint64_t bytes_max_ = 0;
  std::uint32_t files_max_ = 1;
  std::string open_lines_[2];
  std::string batch_;
};

}  // namespace berth::runtime::shim
