#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/show/console.h"
#include "placement/directory.h"
#include "placement/downtime.h"
#include "placement/plan.h"

// A plan for people: what happens, what stops, what is refused and why, what relieves overloaded
// nodes, the load of the nodes, and a summary in one line.
namespace berth::cli {

// Short keeps big plans readable: equal rows become one, what stays as it is becomes a count.
// Wide shows every row, with more columns.
enum class Detail { Short, Wide };

struct PlanView {
  const placement::Plan& plan;
  const placement::Directory& directory;
  Detail detail;
  Style style;
  placement::Downtimes downtimes = {};
};

std::string plan_table(const PlanView& view);

// nullopt: it neither moves nor changes.
std::optional<placement::Downtime> downtime_of(const placement::Placement& placement,
                                               const PlanView& view);
bool interrupts(std::optional<placement::Downtime> downtime);

// The sections of the table, each empty if it has nothing to say.
std::string placements_section(const PlanView& view);
std::string stops_section(const PlanView& view);
std::string refused_section(const PlanView& view);
std::string relief_section(const PlanView& view);
std::string load_section(const PlanView& view);

// "3 start, 1 move (1 restart expected), 2 keep, 1 refused".
std::string summary_line(const PlanView& view);

// More rows than this are too many to read one by one.
constexpr std::size_t kReadableRows = 20;

// What is missing on a node, with figures: "asked 600 DMIPS, has 412 DMIPS".
std::string figures_text(const placement::NodeVerdict& verdict);

// Ascending indices in few characters: "0..499", "0,2,5..7", "0,3,6,...,498".
std::string index_ranges(const std::vector<std::uint32_t>& indices);

}  // namespace berth::cli
