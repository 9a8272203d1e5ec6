#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>

#include "cli/flags.h"
#include "cli/plan_table.h"
#include "cli/planning.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "codec/instance_name.h"
#include "codec/plan_json.h"
#include "placement/request.h"

// `berth why`: what each node says to one instance, and what would make it fit.
namespace berth::cli {
namespace {

using placement::Explanation;
using placement::NodeVerdict;
using placement::Plan;

constexpr const char* kExamples =
    "Examples:\n"
    "  berth why telemetry                        where it is, and why not elsewhere\n"
    "  berth why telemetry/vehicle/1 -f new.yaml  where it would be, if that were applied\n"
    "  berth why --offline telemetry -f examples/vehicle\n"
    "  berth why --offline telemetry/vehicle/1 -f cluster.yaml -f items.yaml -f deployment.yaml\n"
    "  berth plan --offline -f examples/vehicle -o name | tail -1 | \\\n"
    "    xargs -I@ berth why --offline @ -f examples/vehicle\n"
    "\n"
    "Exit codes: 0 done, 3 invalid input, 4 no such instance,\n"
    "6 cannot reach the control plane.";

struct WhyFlags {
  PlanningFlags planning;
  std::string output = "table";
  std::vector<std::string> words;  // the instance, then files that stood after -f FILE
};

std::set<model::InstanceKey> known_instances(const placement::Snapshot& snapshot) {
  std::set<model::InstanceKey> known;
  for (const placement::Request& request : placement::expand(snapshot)) known.insert(request.key);
  for (const auto& [key, present] : snapshot.present) known.insert(key);
  return known;
}

template <class Entries>
auto entry_of(const Entries& entries, const model::InstanceKey& key) {
  const auto found = std::ranges::find_if(entries, [&](const auto& e) { return e.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

// What runs and is not asked for any more has no verdicts: nothing was decided about it.
Explanation explanation_of(const Plan& plan, const model::InstanceKey& key) {
  if (plan.explanation) return *plan.explanation;
  const placement::Stop* stop = entry_of(plan.stops, key);
  const std::string where = stop == nullptr ? "" : " on " + model::to_string(stop->place);
  return {key, fmt::format("runs{}, and nothing asks for it: it stops", where), {}};
}

std::string_view mark_of(const NodeVerdict& verdict, const model::NodeId* chosen,
                         const Style& style) {
  if (chosen != nullptr && verdict.node == *chosen) return style.unicode ? "✓" : "*";
  if (verdict.reason) return style.unicode ? "✗" : "-";
  return "";
}

std::string reason_of(const NodeVerdict& verdict, const model::NodeId* chosen) {
  if (chosen != nullptr && verdict.node == *chosen) return "chosen";
  return verdict.reason ? std::string(model::to_string(*verdict.reason)) : "fits";
}

std::string without_prefix(std::string text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

std::string table_of(const Plan& plan, const Explanation& explanation, const Style& style) {
  const placement::Placement* placed = entry_of(plan.placements, explanation.key);
  const placement::Refusal* refused = entry_of(plan.refused, explanation.key);
  const model::NodeId* chosen = placed == nullptr ? nullptr : &placed->place.node;
  Table table({{""}, {""}, {""}, {""}});
  for (const NodeVerdict& verdict : explanation.nodes) {
    const bool is_chosen = chosen != nullptr && verdict.node == *chosen;
    const Tone tone = is_chosen ? Tone::Good : verdict.reason ? Tone::Bad : Tone::Plain;
    table.add({{std::string(mark_of(verdict, chosen, style)), tone},
               {verdict.node.value()},
               {reason_of(verdict, chosen), tone},
               {without_prefix(figures_text(verdict), "fits, ")}});
  }
  std::string out = style.paint(model::to_string(explanation.key), Tone::Strong);
  out += ": " + printable(explanation.summary) + "\n" + table.render(style, 2);
  if (refused != nullptr && !refused->hint.empty()) {
    out += "  hint: " + printable(refused->hint) + "\n";
  }
  return out;
}

std::string render(const Plan& plan, const Explanation& explanation, const std::string& output,
                   const Style& style) {
  if (output == "json") return codec::explanation_to_json(plan, explanation);
  if (output == "yaml") return codec::explanation_to_yaml(plan, explanation);
  if (output == "name") return "instance/" + model::to_string(explanation.key) + "\n";
  return table_of(plan, explanation, style);
}

Result<ExitCode> run(const WhyFlags& flags, Console& console) {
  PlanningFlags planning = flags.planning;
  planning.files.insert(planning.files.end(), flags.words.begin() + 1, flags.words.end());
  const placement::Mode mode = TRY(mode_of(planning));
  const World world = TRY(load_world(planning, console));
  const placement::Snapshot snapshot = placement::snapshot_of(world.documents);
  const auto key = TRY(codec::find_instance(flags.words.front(), known_instances(snapshot)));
  const Plan plan = placement::make_plan(snapshot, {.mode = mode, .explain = key});
  console.out << render(plan, explanation_of(plan, key), flags.output, console.out_style);
  return ExitCode::Done;
}

Command declare(CLI::App& verb) {
  const auto flags = std::make_shared<WhyFlags>();
  verb.add_option("INSTANCE", flags->words, "item[/subject[/index]]")
      ->type_name("")
      ->required()
      ->expected(1, -1);
  declare_planning_flags(verb, flags->planning, MoreFiles::DoNotFollow);
  add_output_flag(verb, flags->output);
  verb.footer(kExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb why_verb{"why", "Explain where one instance is placed, or why nowhere", declare};

}  // namespace berth::cli
