#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/show/console.h"

namespace berth::cli {

struct Cell {
  std::string text;
  Tone tone = Tone::Plain;
  std::string brief = {};  // what to say where there is little room; empty: the same
};

enum class Align { Left, Right };

struct Column {
  std::string head;
  Align align = Align::Left;
  int spare = 0;       // where there is little room the highest goes first; 0 stays
  bool wraps = false;  // long texts go on on the next line
};

// Rows of text under aligned columns, without frames. Columns in which no row says anything are
// left out. Control characters are shown as '?', so that no name can play with a terminal. Where
// the style knows of a width no line is longer: first briefer texts are taken, then columns left
// out that can be spared, then texts wrapped or, in the last column, put below their row; at last
// names are cut.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell per column; missing ones at the end are empty.
  void add(std::vector<Cell> row);

  bool empty() const { return rows_.empty(); }
  std::string render(const Style& style, std::size_t indent) const;

 private:
  std::vector<std::size_t> widths() const;
  // Without those columns that there is no room for.
  Table fitted(std::size_t room) const;
  Table with_brief_texts() const;
  Table without(std::size_t column) const;
  std::size_t column_to_spare() const;
  std::vector<bool> wrapping() const;
  std::string rendered(const Style& style, std::size_t indent,
                       const std::vector<std::size_t>& width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// The columns that a text takes on a terminal.
std::size_t width_of(std::string_view text);

// Control characters replaced.
std::string printable(std::string_view text);

}  // namespace berth::cli
