#include "cli/show/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "cli/show/wrap.h"

namespace berth::cli {
namespace {

// How long the escape sequence is that starts here; 0: none does.
std::size_t escape_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  std::size_t length = 2;
  while (length < text.size() && (text[length] < '@' || text[length] > '~')) ++length;
  return std::min(length + 1, text.size());
}

std::size_t character_length(std::string_view text) {
  std::size_t length = 1;
  while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) {
    ++length;
  }
  return length;
}

std::size_t visible_width(std::string_view line) {
  std::size_t width = 0;
  while (!line.empty()) {
    const std::size_t escape = escape_length(line);
    if (escape == 0) ++width;
    line.remove_prefix(escape == 0 ? character_length(line) : escape);
  }
  return width;
}

}  // namespace

bool is_terminal(int file_descriptor) { return isatty(file_descriptor) == 1; }

TerminalSize terminal_size(int file_descriptor) {
  winsize size{};
  if (ioctl(file_descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return {};
  }
  return {.rows = size.ws_row, .columns = size.ws_col};
}

Result<RawMode> RawMode::enter() {
  termios before{};
  if (tcgetattr(STDIN_FILENO, &before) != 0) {
    return invalid_input("-t needs a terminal, and standard input is none");
  }
  termios raw = before;
  cfmakeraw(&raw);
  if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) != 0) {
    return Error{Code::Internal,
                 fmt::format("cannot take over the terminal: {}", std::strerror(errno))};
  }
  return RawMode(before);
}

RawMode::RawMode(RawMode&& other) noexcept
    : before_(other.before_), entered_(std::exchange(other.entered_, false)) {}

RawMode::~RawMode() {
  if (entered_) tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

std::string clipped(std::string_view line, std::size_t columns) {
  std::string out;
  std::size_t width = 0;
  bool coloured = false;
  while (!line.empty() && width < columns) {
    const std::size_t escape = escape_length(line);
    const std::size_t length = escape == 0 ? character_length(line) : escape;
    if (escape == 0) ++width;
    if (escape != 0) coloured = line.substr(0, length) != "\x1b[0m";
    out += line.substr(0, length);
    line.remove_prefix(length);
  }
  if (coloured) out += "\x1b[0m";
  return out;
}

std::size_t Canvas::rows_drawn(std::size_t columns) const {
  std::size_t rows = 0;
  for (const std::string_view line : lines_of(drawn_)) {
    rows += std::max<std::size_t>(1, (visible_width(line) + columns - 1) / columns);
  }
  return rows;
}

void Canvas::draw(std::string_view text, const TerminalSize& size) {
  std::string out;
  const std::size_t columns = std::max<std::size_t>(size.columns, 1);
  const std::size_t above = std::min(rows_drawn(columns), size.rows);
  if (above > 0) out += fmt::format("\x1b[{}A", above);
  out += "\r\x1b[J";
  drawn_.clear();
  std::vector<std::string_view> lines = lines_of(text);
  if (lines.size() >= size.rows) lines.resize(std::max<std::size_t>(size.rows, 2) - 1);
  for (const std::string_view line : lines) drawn_ += clipped(line, columns) + "\n";
  out_ << out << drawn_ << std::flush;
}

}  // namespace berth::cli
