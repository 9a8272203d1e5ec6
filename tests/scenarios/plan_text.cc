#include "plan_text.h"

#include <fmt/format.h>

#include "placement/relief_text.h"
#include "placement/verdict.h"

namespace berth::scenarios {
namespace {

using placement::NodeVerdict;

std::string line_of(const placement::Placement& placement) {
  const std::string way = placement.from
                              ? model::to_string(*placement.from) + " -> "
                              : (placement.action == placement::Action::Start ? "-> " : "on ");
  return fmt::format("{} {} {} {}{} image {}\n", model::to_string(placement.action),
                     model::to_string(placement.key), placement.version, way,
                     model::to_string(placement.place), placement.image);
}

std::string line_of(const NodeVerdict& verdict) {
  std::string line = fmt::format("  {}", verdict.node.value());
  if (verdict.reason) line += fmt::format(" {}", model::to_string(*verdict.reason));
  if (verdict.asked) line += fmt::format(" asked {} has {}", *verdict.asked, *verdict.has);
  return fmt::format("{}: {}\n", line, verdict.detail);
}

std::string lines_of(const placement::Refusal& refusal) {
  std::string lines =
      fmt::format("refused {} {} {}{}\n", model::to_string(refusal.key), refusal.version,
                  model::to_string(refusal.reason), refusal.left_running ? ", left running" : "");
  for (const NodeVerdict& verdict : refusal.nodes) lines += line_of(verdict);
  if (!refusal.hint.empty()) lines += fmt::format("  hint: {}\n", refusal.hint);
  return lines;
}

std::string line_of(const placement::NodeLoad& load) {
  const auto ram = [](Bytes bytes) { return placement::human(bytes); };
  return fmt::format("node {} cpu {} of {}, {} left; ram {} of {}, {} left\n", load.node.value(),
                     load.reserved.cpu.count(), load.capacity.cpu.count(),
                     load.available.cpu.count(), ram(load.reserved.ram), ram(load.capacity.ram),
                     ram(load.available.ram));
}

std::string line_of(const placement::Relief& relief) {
  std::string line = fmt::format("overloaded {} {}:", relief.node.value(), usage_text(relief));
  if (relief.unrelieved) {
    return fmt::format("{} {}, {}\n", line, model::to_string(*relief.unrelieved), why_text(relief));
  }
  for (const model::InstanceKey& key : relief.leaving) line += " " + model::to_string(key);
  return line + (relief.leaving.empty() ? " nobody needs to leave\n" : " leaving\n");
}

}  // namespace

std::string to_text(const placement::Plan& plan) {
  std::string text;
  for (const auto& placement : plan.placements) text += line_of(placement);
  for (const auto& refusal : plan.refused) text += lines_of(refusal);
  for (const auto& stop : plan.stops) {
    text += fmt::format("stop {} {} on {}\n", model::to_string(stop.key), stop.version,
                        model::to_string(stop.place));
  }
  for (const auto& relief : plan.relief) text += line_of(relief);
  return text.empty() ? "nothing\n" : text;
}

std::string nodes_to_text(const placement::Plan& plan) {
  std::string text;
  for (const auto& load : plan.nodes) text += line_of(load);
  return text;
}

std::string to_text(const placement::Explanation& explanation) {
  std::string text = fmt::format("{} {}\n", model::to_string(explanation.key), explanation.summary);
  for (const NodeVerdict& verdict : explanation.nodes) text += line_of(verdict);
  return text;
}

}  // namespace berth::scenarios
