#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

// The program's streams, and what may be printed on them.
namespace berth::cli {

// What a piece of text means; a terminal with colours shows it.
enum class Tone { Plain, Strong, Dim, Good, Change, Warning, Bad };

struct Style {
  bool colours = false;
  bool unicode = false;
  std::size_t columns = 0;  // what a line may have; 0: it goes to no terminal, and has no end

  std::string paint(std::string_view text, Tone tone) const;
};

struct Console {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  Style out_style;
  Style err_style;
  bool live = false;  // out is a terminal that can be drawn on again and again
};

// What the environment says about a stream: colours on a terminal unless NO_COLOR is set, unicode
// where the locale is UTF-8, the width of the terminal.
Style style_for(int file_descriptor);

// Standard input, output and error of this process.
Console process_console();

}  // namespace berth::cli
