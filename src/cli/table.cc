#include "cli/table.h"

#include <algorithm>

#include "base/check.h"

namespace berth::cli {
namespace {

constexpr std::size_t kGap = 2;

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

void trim_right(std::string& line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
}

// One line of cells, padded to their columns; a width of 0 leaves the column out.
class Line {
 public:
  Line(const Style& style, std::size_t indent) : style_(style), text_(indent, ' ') {}

  void add(const Cell& cell, std::size_t width, Align align) {
    if (width == 0) return;
    const std::string padding(width - width_of(cell.text), ' ');
    const std::string painted = style_.paint(cell.text, cell.tone);
    text_ += align == Align::Right ? padding + painted : painted + padding;
    text_.append(kGap, ' ');
  }

  std::string finish() && {
    trim_right(text_);
    return std::move(text_) + "\n";
  }

 private:
  const Style& style_;
  std::string text_;
};

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return !is_continuation(byte); }));
}

std::string printable(std::string_view text) {
  std::string out(text);
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  std::ranges::replace_if(out, is_control, '?');
  return out;
}

void Table::add(std::vector<Cell> row) {
  CHECK(row.size() <= columns_.size(), "a row has no more cells than the table has columns");
  row.resize(columns_.size());
  for (Cell& cell : row) cell.text = printable(cell.text);
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const std::vector<Cell>& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row[i].text));
    }
  }
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] > 0) widths[i] = std::max(widths[i], width_of(columns_[i].head));
  }
  return widths;
}

std::string Table::render(const Style& style, std::size_t indent) const {
  const std::vector<std::size_t> width = widths();
  Line head(style, indent);
  bool has_head = false;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    head.add({columns_[i].head, Tone::Dim}, width[i], columns_[i].align);
    has_head = has_head || !columns_[i].head.empty();
  }
  std::string out = has_head ? std::move(head).finish() : "";
  for (const std::vector<Cell>& row : rows_) {
    Line line(style, indent);
    for (std::size_t i = 0; i < row.size(); ++i) line.add(row[i], width[i], columns_[i].align);
    out += std::move(line).finish();
  }
  return out;
}

}  // namespace berth::cli
