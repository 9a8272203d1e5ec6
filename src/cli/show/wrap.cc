#include "cli/show/wrap.h"

#include <algorithm>

#include "cli/show/table.h"

namespace berth::cli {
namespace {

constexpr std::size_t kCommandIndent = 6;  // of what follows a command on lines of its own

// How many bytes the first columns of a text take.
std::size_t bytes_of(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t width = 0; at < text.size() && width < columns; ++width) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  }
  return at;
}

// Where a line that is too long ends; at least one character is on it.
std::size_t break_in(std::string_view text, std::size_t columns) {
  const std::size_t fits = bytes_of(text, std::max<std::size_t>(columns, 1));
  const std::size_t space = text.substr(0, fits + 1).rfind(' ');
  if (space != text.npos && space > 0) return space;
  const std::size_t joint = text.substr(0, fits).find_last_of(",/|");
  return joint == text.npos || joint + 1 < fits / 2 ? fits : joint + 1;
}

std::string_view without_spaces_before(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

std::string_view without_spaces_behind(std::string_view text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

// A line of a help: a first part, and from some column on a second, which may be all there is.
struct HelpLine {
  std::size_t indent = 0;
  std::string_view first;  // "berth get nodes", "check"; empty: prose
  std::size_t column = 0;  // of the second part
  std::string second;
  std::vector<std::string_view> lines;  // as they were written

  bool is_prose() const { return first.empty() && indent == 0; }
  bool is_command() const { return indent > 0 && !first.empty(); }
};

HelpLine help_line_of(std::string_view line) {
  HelpLine entry{.lines = {line}};
  entry.indent = line.size() - without_spaces_before(line).size();
  const std::size_t gap = line.rfind("  ");
  const bool has_two_parts = gap != line.npos && gap > entry.indent && gap + 2 < line.size();
  if (has_two_parts) {
    entry.column = gap + 2;
    entry.first = without_spaces_behind(line.substr(entry.indent, gap - entry.indent));
  } else if (entry.indent == 2) {
    entry.column = line.size();
    entry.first = line.substr(2);
  } else {
    entry.column = entry.indent;
  }
  entry.second = line.substr(entry.column);
  return entry;
}

// Whether the line goes on with what the entry says. A sentence that ends ends a paragraph.
bool goes_on(const HelpLine& entry, const HelpLine& line) {
  if (!line.first.empty() || line.second.empty() || entry.second.empty()) return false;
  if (entry.indent == 0 && !entry.first.empty()) return line.indent == entry.column;
  const bool is_ended = entry.second.ends_with('.') || entry.second.ends_with(':');
  return entry.is_prose() && line.is_prose() && !is_ended;
}

std::vector<HelpLine> help_lines_of(std::string_view text) {
  std::vector<HelpLine> entries;
  for (const std::string_view line : lines_of(text)) {
    HelpLine entry = help_line_of(line);
    if (!entries.empty() && goes_on(entries.back(), entry)) {
      entries.back().second += " " + entry.second;
      entries.back().lines.push_back(line);
    } else {
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

std::string indented(const std::vector<std::string>& lines, std::size_t indent,
                     std::string_view end = "") {
  std::string out;
  for (const std::string& line : lines) {
    const bool is_last = &line == &lines.back();
    out.append(indent, ' ').append(line).append(is_last ? "" : end).append("\n");
  }
  return out;
}

std::string command_text(const HelpLine& entry, std::size_t columns) {
  std::vector<std::string> command = wrapped(entry.first, columns - kCommandIndent - 2);
  if (width_of(entry.first) + entry.indent <= columns) command = {std::string(entry.first)};
  std::string out(entry.indent, ' ');
  out += command.front() + (command.size() == 1 ? "\n" : " \\\n");
  command.erase(command.begin());
  if (!command.empty()) out += indented(command, kCommandIndent, " \\");
  if (entry.second.empty()) return out;
  return out + indented(wrapped(entry.second, columns - kCommandIndent), kCommandIndent);
}

std::string help_line_text(const HelpLine& entry, std::size_t columns) {
  const bool fits = std::ranges::all_of(
      entry.lines, [&](std::string_view line) { return width_of(line) <= columns; });
  if (fits) {
    std::string out;
    for (const std::string_view line : entry.lines) out.append(line).append("\n");
    return out;
  }
  if (entry.is_command()) return command_text(entry, columns);
  const std::size_t column = std::min(entry.column, columns / 2);
  std::string out = indented(wrapped(entry.second, columns - column), column);
  return out.replace(entry.indent, entry.first.size(), entry.first);
}

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  while (width_of(text) > columns) {
    const std::size_t end = break_in(text, columns);
    lines.emplace_back(without_spaces_behind(text.substr(0, end)));
    text = without_spaces_before(text.substr(end));
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

std::string shortened(std::string_view text, std::size_t columns, bool unicode) {
  if (width_of(text) <= columns) return std::string(text);
  return std::string(text.substr(0, bytes_of(text, columns - 1))) + (unicode ? "…" : "~");
}

std::string refilled(std::string_view text, std::size_t columns) {
  constexpr std::size_t kNarrowest = 20;  // less is no terminal to read a help on
  std::string out;
  if (columns == 0) return std::string(text) + "\n";
  for (const HelpLine& entry : help_lines_of(text)) {
    out += help_line_text(entry, std::max(columns, kNarrowest));
  }
  return out;
}

}  // namespace berth::cli
