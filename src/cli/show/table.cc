#include "cli/show/table.h"

#include <algorithm>

#include "base/check.h"
#include "cli/show/wrap.h"

namespace berth::cli {
namespace {

constexpr std::size_t kGap = 2;

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

void trim_right(std::string& line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
}

constexpr std::size_t kReadableText = 24;  // a wrapped column of so many is still read with ease
constexpr std::size_t kTextIndent = 4;     // of one that stands below its row
constexpr std::size_t kNarrowName = 6;

std::size_t total_of(const std::vector<std::size_t>& widths) {
  std::size_t total = 0;
  for (const std::size_t width : widths) total += width == 0 ? 0 : width + kGap;
  return total == 0 ? 0 : total - kGap;
}

// The columns that can be narrower become so, the widest first.
void narrow(std::vector<std::size_t>& widths, const std::vector<bool>& may, std::size_t least,
            std::size_t room) {
  while (total_of(widths) > room) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const bool is_wider = widest == widths.size() || widths[i] > widths[widest];
      if (may[i] && widths[i] > least && is_wider) widest = i;
    }
    if (widest == widths.size()) return;
    --widths[widest];
  }
}

// One line of cells, padded to their columns; a width of 0 leaves the column out.
class Line {
 public:
  Line(const Style& style, std::size_t indent) : style_(style), text_(indent, ' ') {}

  void add(const Cell& cell, std::size_t width, Align align) {
    if (width == 0) return;
    const std::string text = shortened(cell.text, width, style_.unicode);
    const std::string padding(width - width_of(text), ' ');
    const std::string painted = style_.paint(text, cell.tone);
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

// A row as the lines that it takes.
std::vector<std::vector<Cell>> lines_of_row(const std::vector<Cell>& row,
                                            const std::vector<std::size_t>& widths,
                                            const std::vector<bool>& wraps) {
  std::vector<std::vector<Cell>> lines{row};
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!wraps[i] || widths[i] == 0 || width_of(row[i].text) <= widths[i]) continue;
    const std::vector<std::string> texts = wrapped(row[i].text, widths[i]);
    if (lines.size() < texts.size()) lines.resize(texts.size(), std::vector<Cell>(row.size()));
    for (std::size_t at = 0; at < texts.size(); ++at) lines[at][i] = {texts[at], row[i].tone};
  }
  return lines;
}

// What would be too narrow to be read beside the others.
std::string text_below(const Cell& cell, const Style& style, std::size_t indent) {
  if (cell.text.empty()) return "";
  std::string out;
  const std::size_t room = style.columns > indent ? style.columns - indent : 1;
  for (const std::string& line : wrapped(cell.text, room)) {
    out += std::string(indent, ' ') + style.paint(line, cell.tone) + "\n";
  }
  return out;
}

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

Table Table::with_brief_texts() const {
  Table brief = *this;
  for (std::vector<Cell>& row : brief.rows_) {
    for (Cell& cell : row) {
      if (!cell.brief.empty()) cell.text = printable(cell.brief);
    }
  }
  return brief;
}

Table Table::without(std::size_t column) const {
  Table rest = *this;
  const auto at = static_cast<std::ptrdiff_t>(column);
  rest.columns_.erase(rest.columns_.begin() + at);
  for (std::vector<Cell>& row : rest.rows_) row.erase(row.begin() + at);
  return rest;
}

// Of equals the last; as many as there are columns: none.
std::size_t Table::column_to_spare() const {
  std::size_t found = columns_.size();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].spare == 0) continue;
    if (found == columns_.size() || columns_[i].spare >= columns_[found].spare) found = i;
  }
  return found;
}

Table Table::fitted(std::size_t room) const {
  const auto needs = [](const Table& table) {
    std::vector<std::size_t> width = table.widths();
    for (std::size_t i = 0; i < width.size(); ++i) {
      if (table.columns_[i].wraps) width[i] = std::min(width[i], kReadableText);
    }
    if (table.columns_.back().wraps) width.back() = 0;  // it can stand below
    return total_of(width);
  };
  if (total_of(widths()) <= room) return *this;
  Table fitted = with_brief_texts();
  while (needs(fitted) > room) {
    const std::size_t spare = fitted.column_to_spare();
    if (spare == fitted.columns_.size()) break;
    fitted = fitted.without(spare);
  }
  return fitted;
}

std::string Table::render(const Style& style, std::size_t indent) const {
  if (style.columns == 0) return rendered(style, indent, widths());
  const std::size_t room = style.columns > indent ? style.columns - indent : 1;
  const Table table = fitted(room);
  std::vector<std::size_t> width = table.widths();
  narrow(width, table.wrapping(), kReadableText, room);
  if (total_of(width) > room && table.columns_.back().wraps) width.back() = 0;
  narrow(width, std::vector<bool>(width.size(), true), kNarrowName, room);
  return table.rendered(style, indent, width);
}

std::vector<bool> Table::wrapping() const {
  std::vector<bool> wraps;
  for (const Column& column : columns_) wraps.push_back(column.wraps);
  return wraps;
}

std::string Table::rendered(const Style& style, std::size_t indent,
                            const std::vector<std::size_t>& width) const {
  Line head(style, indent);
  bool has_head = false;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    head.add({columns_[i].head, Tone::Dim}, width[i], columns_[i].align);
    has_head = has_head || !columns_[i].head.empty();
  }
  std::string out = has_head ? std::move(head).finish() : "";
  const std::vector<bool> wraps = wrapping();
  for (const std::vector<Cell>& row : rows_) {
    for (const std::vector<Cell>& cells : lines_of_row(row, width, wraps)) {
      Line line(style, indent);
      for (std::size_t i = 0; i < cells.size(); ++i) {
        line.add(cells[i], width[i], columns_[i].align);
      }
      out += std::move(line).finish();
    }
    if (width.back() == 0) out += text_below(row.back(), style, indent + kTextIndent);
  }
  return out;
}

}  // namespace berth::cli
