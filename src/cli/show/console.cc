#include "cli/show/console.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "cli/show/terminal.h"

namespace berth::cli {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view{value};
}

// The first of these that is set decides, as POSIX says.
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value(environment(name));
    if (value.empty()) continue;
    std::ranges::replace(value, 'u', 'U');
    std::ranges::replace(value, 't', 'T');
    std::ranges::replace(value, 'f', 'F');
    return value.find("UTF-8") != std::string::npos || value.find("UTF8") != std::string::npos;
  }
  return false;
}

bool wants_colours() { return environment("NO_COLOR").empty() && environment("TERM") != "dumb"; }

std::string_view escape_of(Tone tone) {
  switch (tone) {
    case Tone::Plain: return "";
    case Tone::Strong: return "\x1b[1m";
    case Tone::Dim: return "\x1b[2m";
    case Tone::Good: return "\x1b[32m";
    case Tone::Change: return "\x1b[36m";
    case Tone::Warning: return "\x1b[33m";
    case Tone::Bad: return "\x1b[31m";
  }
  return "";
}

}  // namespace

std::string Style::paint(std::string_view text, Tone tone) const {
  if (!colours || tone == Tone::Plain || text.empty()) return std::string(text);
  return std::string(escape_of(tone)).append(text).append("\x1b[0m");
}

Style style_for(int file_descriptor) {
  const bool is_seen = is_terminal(file_descriptor);
  return {.colours = is_seen && wants_colours(),
          .unicode = locale_is_utf8(),
          .columns = is_seen ? terminal_size(file_descriptor).columns : 0};
}

Console process_console() {
  return {.in = std::cin,
          .out = std::cout,
          .err = std::cerr,
          .out_style = style_for(STDOUT_FILENO),
          .err_style = style_for(STDERR_FILENO),
          .live = isatty(STDOUT_FILENO) == 1 && environment("TERM") != "dumb"};
}

}  // namespace berth::cli
