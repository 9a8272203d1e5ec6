#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/show/figures.h"
#include "cli/show/plan_table.h"
#include "cli/show/table.h"
#include "placement/verdict.h"

// Who was refused, and what each node said to it.
namespace berth::cli {
namespace {

using placement::is_amount;
using placement::NodeVerdict;
using placement::Reason;
using placement::Refusal;

std::string amount_text(Reason reason, std::int64_t amount) {
  return reason == Reason::InsufficientCpu ? human(Dmips(amount)) : human(Bytes(amount));
}

// Refusals that differ in nothing but their index.
struct RefusalGroup {
  const Refusal* first = nullptr;
  std::vector<std::uint32_t> indices;
};

bool are_alike(const Refusal& a, const Refusal& b) {
  return a.key.item == b.key.item && a.key.subject == b.key.subject && a.version == b.version &&
         a.reason == b.reason && a.hint == b.hint && a.left_running == b.left_running &&
         a.nodes == b.nodes;
}

// Refusals come in scheduling order, so that are_alike ones are neighbours.
std::vector<RefusalGroup> groups_of(const PlanView& view) {
  std::vector<RefusalGroup> groups;
  for (const Refusal& refusal : view.plan.refused) {
    const bool joins =
        view.detail == Detail::Short && !groups.empty() && are_alike(*groups.back().first, refusal);
    if (!joins) groups.push_back({&refusal, {}});
    groups.back().indices.push_back(refusal.key.index);
  }
  return groups;
}

// With many nodes, those that say the same for the same reason are only counted.
std::string counted_verdicts(const Refusal& refusal, const Style& style) {
  std::map<Reason, std::size_t> counts;
  for (const NodeVerdict& verdict : refusal.nodes) {
    if (verdict.reason) ++counts[*verdict.reason];
  }
  Table table({{""}, {""}});
  for (const auto& [reason, count] : counts) {
    table.add({{counted(count, "node")}, {std::string(model::to_string(reason))}});
  }
  return table.render(style, 4);
}

std::string verdicts(const Refusal& refusal, const PlanView& view) {
  if (view.detail == Detail::Short && refusal.nodes.size() > kReadableRows) {
    return counted_verdicts(refusal, view.style);
  }
  Table table({{""}, {""}, {""}});
  for (const NodeVerdict& verdict : refusal.nodes) {
    const auto reason = verdict.reason ? model::to_string(*verdict.reason) : "fits";
    table.add({{verdict.node.value()}, {std::string(reason)}, {figures_text(verdict), Tone::Dim}});
  }
  return table.render(view.style, 4);
}

std::string text_of(const RefusalGroup& group, const PlanView& view) {
  const Refusal& refusal = *group.first;
  const std::string many =
      group.indices.size() == 1 ? "" : fmt::format(" (x{})", group.indices.size());
  std::string out =
      fmt::format("  {}/{}/{}{} {}: {}\n", refusal.key.item.value(), refusal.key.subject.value(),
                  index_ranges(group.indices), many, printable(refusal.version),
                  view.style.paint(model::to_string(refusal.reason), Tone::Bad));
  out += verdicts(refusal, view);
  if (refusal.left_running) out += "    what runs of it is left alone\n";
  if (!refusal.hint.empty()) out += "    hint: " + printable(refusal.hint) + "\n";
  return out;
}

}  // namespace

std::string figures_text(const NodeVerdict& verdict) {
  const bool has_figures = verdict.reason && verdict.asked && verdict.has;
  if (!has_figures || !is_amount(*verdict.reason)) return verdict.detail;
  const std::string asked = amount_text(*verdict.reason, *verdict.asked);
  const std::string has = amount_text(*verdict.reason, *verdict.has);
  if (asked != has) return fmt::format("asked {}, has {}", asked, has);
  // The difference is below what is shown.
  return fmt::format("asked {} bytes, has {}", *verdict.asked, *verdict.has);
}

std::string refused_section(const PlanView& view) {
  if (view.plan.refused.empty()) return "";
  const std::vector<RefusalGroup> groups = groups_of(view);
  std::string out = view.style.paint("Refused", Tone::Strong) + "\n";
  std::size_t shown = 0;
  for (const RefusalGroup& group : groups) {
    if (view.detail == Detail::Short && shown == kReadableRows) break;
    out += text_of(group, view);
    ++shown;
  }
  if (shown < groups.size()) {
    out += fmt::format("  ... and {} more (-o wide lists all)\n", groups.size() - shown);
  }
  return out;
}

}  // namespace berth::cli
