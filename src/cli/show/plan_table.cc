#include "cli/show/plan_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "cli/show/figures.h"

namespace berth::cli {
namespace {

using placement::Action;

std::uint64_t count_of(const placement::Plan& plan, Action action) {
  return static_cast<std::uint64_t>(
      std::ranges::count(plan.placements, action, &placement::Placement::action));
}

std::uint64_t restarts_of(const PlanView& view, Action action) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(view.plan.placements, [&](const placement::Placement& placement) {
        if (placement.action != action) return false;
        return interrupts(downtime_of(placement, view));
      }));
}

Tone tone_of_plan(const placement::Plan& plan) {
  if (!plan.refused.empty()) return Tone::Bad;
  return placement::changes_anything(plan) ? Tone::Strong : Tone::Good;
}

}  // namespace

std::optional<placement::Downtime> downtime_of(const placement::Placement& placement,
                                               const PlanView& view) {
  const auto found = view.downtimes.find(placement.key);
  return found == view.downtimes.end() ? std::nullopt : std::optional(found->second);
}

bool interrupts(std::optional<placement::Downtime> downtime) {
  return downtime == placement::Downtime::StopsFirst || downtime == placement::Downtime::Restarts;
}

std::string summary_line(const PlanView& view) {
  std::vector<std::string> parts;
  for (const Action action :
       {Action::Start, Action::Move, Action::Update, Action::Restart, Action::Keep}) {
    const std::uint64_t count = count_of(view.plan, action);
    if (count == 0) continue;
    parts.push_back(fmt::format("{} {}", count, model::to_string(action)));
    const std::uint64_t restarts = restarts_of(view, action);
    if (restarts > 0) parts.back() += fmt::format(" ({} expected)", counted(restarts, "restart"));
  }
  if (!view.plan.stops.empty()) parts.push_back(fmt::format("{} stop", view.plan.stops.size()));
  if (!view.plan.refused.empty()) {
    parts.push_back(fmt::format("{} refused", view.plan.refused.size()));
  }
  if (parts.empty()) return "Nothing is asked for and nothing runs.";
  const bool idle = view.plan.refused.empty() && !placement::changes_anything(view.plan);
  return fmt::format("{}{}", idle ? "No change: " : "", fmt::join(parts, ", "));
}

std::string plan_table(const PlanView& view) {
  std::string out;
  for (const auto section :
       {placements_section, stops_section, refused_section, relief_section, load_section}) {
    const std::string text = section(view);
    if (!text.empty()) out += text + "\n";
  }
  return out + view.style.paint(summary_line(view), tone_of_plan(view.plan)) + "\n";
}

}  // namespace berth::cli
