#include <fmt/format.h>

#include "cli/show/figures.h"
#include "cli/show/plan_table.h"
#include "cli/show/table.h"
#include "placement/relief_text.h"

// What is done for each overloaded node, or why nothing is.
namespace berth::cli {
namespace {

using placement::Relief;

template <class Q>
std::string usage_cell(bool overloaded, Q before, Q planned, Q goal, Q capacity,
                       const Style& style) {
  if (!overloaded) return "";
  const auto percent = [&](Q amount) {
    return placement::percent_text(amount.count(), capacity.count());
  };
  return fmt::format("{} {} {} (min {})", percent(before), style.unicode ? "→" : "->",
                     percent(planned), percent(goal));
}

std::string leaving_text(const Relief& relief, Detail detail) {
  if (relief.unrelieved) return placement::why_text(relief);
  if (relief.leaving.empty()) return "is relieved already";
  std::string text;
  std::size_t shown = 0;
  for (const model::InstanceKey& key : relief.leaving) {
    if (detail == Detail::Short && shown == kReadableRows) {
      return fmt::format("{}, ... and {} more", text, relief.leaving.size() - shown);
    }
    text += (shown++ == 0 ? "" : ", ") + model::to_string(key);
  }
  return text;
}

}  // namespace

std::string relief_section(const PlanView& view) {
  if (view.plan.relief.empty()) return "";
  Table table({{"NODE"}, {"CPU"}, {"RAM"}, {"RELIEF"}, {"LEAVING"}});
  for (const Relief& relief : view.plan.relief) {
    const auto& [cpu, ram] = relief.overloaded;
    table.add({{relief.node.value()},
               {usage_cell(cpu, relief.before.cpu, relief.planned.cpu, relief.goal.cpu,
                           relief.capacity.cpu, view.style)},
               {usage_cell(ram, relief.before.ram, relief.planned.ram, relief.goal.ram,
                           relief.capacity.ram, view.style)},
               {relief.unrelieved ? std::string(model::to_string(*relief.unrelieved)) : "yes",
                relief.unrelieved ? Tone::Bad : Tone::Good},
               {leaving_text(relief, view.detail)}});
  }
  return view.style.paint("Overloaded nodes", Tone::Strong) + "\n" + table.render(view.style, 2);
}

}  // namespace berth::cli
