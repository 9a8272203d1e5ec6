#pragma once

#include <termios.h>

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

#include "base/result.h"

// The terminal that the program may be attached to.
namespace berth::cli {

struct TerminalSize {
  std::size_t rows = 24;
  std::size_t columns = 80;
};

bool is_terminal(int file_descriptor);

// What a file descriptor's terminal says; the size of old terminals if it says nothing.
TerminalSize terminal_size(int file_descriptor);

// Puts the terminal of standard input into raw mode, where every key goes to the other side, and
// back when it goes.
class RawMode {
 public:
  static Result<RawMode> enter();
  ~RawMode();
  RawMode(RawMode&& other) noexcept;
  RawMode& operator=(RawMode&&) = delete;

 private:
  explicit RawMode(const termios& before) : before_(before) {}

  termios before_;
  bool entered_ = true;
};

// The first columns of a line that may contain colours; they do not count, and end with it.
std::string clipped(std::string_view line, std::size_t columns);

// Draws a text again and again in the same place.
class Canvas {
 public:
  explicit Canvas(std::ostream& out) : out_(out) {}

  // Replaces what was drawn before. Lines are clipped to the width, and those that do not fit into
  // the height are left out: what has scrolled away could not be replaced. That the terminal has
  // become narrower since, and what was drawn takes more rows now, is reckoned with.
  void draw(std::string_view text, const TerminalSize& size);

 private:
  std::size_t rows_drawn(std::size_t columns) const;

  std::ostream& out_;
  std::string drawn_;
};

}  // namespace berth::cli
