#include <fmt/format.h>

#include "cli/show/figures.h"
#include "cli/show/plan_table.h"
#include "cli/show/table.h"

// What is reserved on each node, now and when the plan is carried out.
namespace berth::cli {
namespace {

using placement::NodeLoad;

constexpr std::int64_t kFull = 85;  // percent; where a node is better not loaded any more

Tone tone_of_load(std::int64_t percent) {
  if (percent >= 100) return Tone::Bad;
  return percent > kFull ? Tone::Warning : Tone::Good;
}

template <class Q>
void add_cells(std::vector<Cell>& row, Q capacity, Q before, Q after, Q available,
               const Style& style) {
  const std::int64_t now = percent_of(before.count(), capacity.count());
  const std::int64_t then = percent_of(after.count(), capacity.count());
  row.push_back({fmt::format("{} {:3}% {} {:3}%", bar(after.count(), capacity.count(), style), now,
                             style.unicode ? "→" : "->", then),
                 tone_of_load(then)});
  row.push_back({human(available), Tone::Dim});
}

bool changes(const NodeLoad& load) { return load.before != load.reserved; }

}  // namespace

std::string load_section(const PlanView& view) {
  if (view.plan.nodes.empty()) return "";
  const bool changed_only = view.detail == Detail::Short && view.plan.nodes.size() > kReadableRows;
  Table table({{"NODE"}, {"CPU"}, {"FREE", Align::Right}, {"RAM"}, {"FREE", Align::Right}});
  std::size_t left_out = 0;
  for (const NodeLoad& load : view.plan.nodes) {
    if (changed_only && !changes(load)) {
      ++left_out;
      continue;
    }
    std::vector<Cell> row{{load.node.value()}};
    add_cells(row, load.capacity.cpu, load.before.cpu, load.reserved.cpu, load.available.cpu,
              view.style);
    add_cells(row, load.capacity.ram, load.before.ram, load.reserved.ram, load.available.ram,
              view.style);
    table.add(std::move(row));
  }
  std::string out = view.style.paint("Load of nodes", Tone::Strong) + "\n";
  if (!table.empty()) out += table.render(view.style, 2);
  if (left_out > 0) {
    out += fmt::format("  {} without change (-o wide lists all)\n", counted(left_out, "node"));
  }
  return out;
}

}  // namespace berth::cli
