#include "cli/show/live_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/show/table.h"
#include "cli/show/views.h"

namespace berth::cli {
namespace {

constexpr std::array<std::string_view, 10> kTurns{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
constexpr std::array<std::string_view, 4> kPlainTurns{"|", "/", "-", "\\"};

// The head, the count of rows that are not shown, and the summary.
constexpr std::size_t kOtherLines = 4;

std::string_view spinner(const LiveView& view) {
  if (view.style.unicode) return kTurns[view.tick % kTurns.size()];
  return kPlainTurns[view.tick % kPlainTurns.size()];
}

std::string_view mark_of(const v1::Instance& row, const LiveView& view) {
  switch (row.state()) {
    case v1::ACTIVE:
      if (!row.proven() && !row.away()) return spinner(view);
      return view.style.unicode ? "✓" : "*";
    case v1::FAILED: return view.style.unicode ? "✗" : "!";
    case v1::INACTIVE: return view.style.unicode ? "·" : ".";
    case v1::PAUSED: return "=";
    default: return spinner(view);
  }
}

std::vector<const v1::Instance*> rows_that_matter(const LiveView& view, std::size_t most) {
  std::vector<const v1::Instance*> rows;
  const bool all = view.rows.size() <= most;
  for (const v1::Instance& row : view.rows) {
    const bool is_up = row.state() == v1::ACTIVE || row.state() == v1::PAUSED;
    if (all || !is_up || !row.proven()) rows.push_back(&row);
  }
  // What failed must not be pushed out by what is on its way.
  if (!all) {
    std::ranges::stable_partition(rows, [](const auto* row) { return row->state() == v1::FAILED; });
  }
  return rows;
}

}  // namespace

std::string live_table(const LiveView& view) {
  const std::size_t most = view.size.rows > kOtherLines + 1 ? view.size.rows - kOtherLines : 1;
  const auto rows = rows_that_matter(view, most);
  Table table({{""}, {"INSTANCE"}, {"VERSION"}, {"STATE"}, {"NODE"}, {"MESSAGE"}});
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const v1::Instance& row = *rows[i];
    table.add({{std::string(mark_of(row, view)), tone_of(row)},
               {name_of(row)},
               {row.version()},
               {state_text(row), tone_of(row)},
               {row.place().node()},
               {row.problem().message(), Tone::Dim}});
  }
  Style style = view.style;
  style.columns = 0;  // a row is a line here, whose end is not drawn
  std::string out = table.empty() ? "" : table.render(style, 0);
  if (rows.size() > most) out += fmt::format("... and {} more\n", rows.size() - most);
  return view.rows.empty() ? "" : out + count_of_states(view.rows) + "\n";
}

}  // namespace berth::cli
