#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"

namespace berth::cli {

struct Cell {
  std::string text;
  Tone tone = Tone::Plain;
};

enum class Align { Left, Right };

struct Column {
  std::string head;
  Align align = Align::Left;
};

// Rows of text under aligned columns, without frames. Columns in which no row says anything are
// left out. Control characters are shown as '?', so that no name can play with a terminal.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell per column; missing ones at the end are empty.
  void add(std::vector<Cell> row);

  bool empty() const { return rows_.empty(); }
  std::string render(const Style& style, std::size_t indent) const;

 private:
  std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// The columns that a text takes on a terminal.
std::size_t width_of(std::string_view text);

// Control characters replaced.
std::string printable(std::string_view text);

}  // namespace berth::cli
