#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/ask/planning.h"
#include "cli/flags.h"
#include "cli/show/figures.h"
#include "cli/show/json_text.h"
#include "cli/show/plan_table.h"
#include "cli/show/table.h"
#include "cli/verbs/verb.h"
#include "client/path.h"
#include "codec/instance_name.h"
#include "codec/plan_json.h"
#include "placement/ask.h"
#include "placement/explanation.h"

// `berth why`: what each node said to one instance when it was decided, or would say, and what
// would make it fit.
namespace berth::cli {
namespace {

using placement::Explanation;
using placement::NodeVerdict;
using placement::Plan;

constexpr const char* kWhyExamples =
    "Examples:\n"
    "  berth why telemetry                        how it came to its place, and why not elsewhere\n"
    "  berth why games/echo                       why an application has no instance ready\n"
    "  berth why telemetry/vehicle/1 -f new.yaml  where it would be, if that were applied\n"
    "  berth why --offline telemetry -f examples/vehicle\n"
    "  berth why --offline telemetry/vehicle/1 -f cluster.yaml -f items.yaml -f deployment.yaml\n"
    "  berth plan --offline -f examples/vehicle -o name | tail -1 | \\\n"
    "    xargs -I@ berth why --offline @ -f examples/vehicle\n"
    "\n"
    "Without files it tells what was decided last, with the figures of that moment, and\n"
    "what would be decided now if that is something else.\n"
    "\n"
    "Exit codes: 0 done, 3 invalid input, 4 no such instance,\n"
    "6 cannot reach the control plane.";

constexpr std::size_t kAwayNamed = 3;

struct WhyFlags {
  PlanningFlags planning;
  std::string output = "table";
  std::vector<std::string> words;  // the instance, then files that stood after -f FILE
};

std::string_view mark_of(const NodeVerdict& verdict, bool is_chosen, const Style& style) {
  if (is_chosen) return style.unicode ? "✓" : "*";
  if (verdict.reason) return style.unicode ? "✗" : "-";
  return "";
}

std::string reason_of(const NodeVerdict& verdict, bool is_chosen) {
  if (is_chosen) return "chosen";
  return verdict.reason ? std::string(model::to_string(*verdict.reason)) : "fits";
}

std::string without_prefix(std::string text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

NodeVerdict verdict_of(const Json& said) {
  NodeVerdict verdict;
  verdict.node = model::NodeId(said.value("node", ""));
  verdict.reason = model::from_string<placement::Reason>(said.value("reason", ""));
  if (said.contains("asked")) verdict.asked = said["asked"].get<std::int64_t>();
  if (said.contains("has")) verdict.has = said["has"].get<std::int64_t>();
  verdict.detail = said.value("detail", "");
  return verdict;
}

// What would help. A node that is away was asked nothing, and may be the very one that is meant.
std::string hint_of(const Json& decided) {
  const std::string hint = decided.value("hint", "");
  std::vector<std::string> away;
  for (const Json& said : decided.value("nodes", Json::array())) {
    const NodeVerdict verdict = verdict_of(said);
    if (verdict.reason == placement::Reason::NoConnectedNodes) away.push_back(verdict.node.value());
  }
  const bool is_named = std::ranges::any_of(
      away, [&](const std::string& node) { return hint.find(node) != hint.npos; });
  if (decided.contains("placement") || away.empty() || is_named) return hint;
  const bool is_one = away.size() == 1;
  const std::string told = away.size() > kAwayNamed ? counted(away.size(), "node")
                                                    : fmt::format("{}", fmt::join(away, ", "));
  return fmt::format("{} {} away, and asked again when {} back{}{}", told, is_one ? "is" : "are",
                     is_one ? "it is" : "they are", hint.empty() ? "" : "; or ", hint);
}

// One line per node, of what was or would be decided; then what would help.
std::string table_of(const Json& decided, const Style& style) {
  const std::string chosen = decided.value("placement", Json::object()).value("node", "");
  Table table({{""}, {""}, {""}, {.head = "", .wraps = true}});
  for (const Json& said : decided.value("nodes", Json::array())) {
    const NodeVerdict verdict = verdict_of(said);
    const bool is_chosen = verdict.node.value() == chosen;
    const Tone tone = is_chosen ? Tone::Good : verdict.reason ? Tone::Bad : Tone::Plain;
    table.add({{std::string(mark_of(verdict, is_chosen, style)), tone},
               {verdict.node.value()},
               {reason_of(verdict, is_chosen), tone},
               {without_prefix(figures_text(verdict), "fits, ")}});
  }
  std::string out = table.render(style, 2);
  const auto left_out = decided.value("leftOut", std::uint64_t{0});
  if (left_out > 0)
    out += fmt::format("  ... and {} that came less near\n", counted(left_out, "node"));
  const std::string hint = hint_of(decided);
  if (!hint.empty()) out += "  hint: " + printable(hint) + "\n";
  return out;
}

std::string decision_text(const Json& decision, const Style& style) {
  std::string out = fmt::format("decided by revision {}: {}\n", decision.value("revision", 0),
                                printable(decision.value("summary", "")));
  const bool asked_nobody =
      decision.contains("placement") && decision["nodes"].empty() && !decision.contains("because");
  if (asked_nobody) out += "  It could stay where it was, so no other node was asked.\n";
  return out + table_of(decision, style);
}

std::string text_of(const Json& answer, const std::string& name, const Style& style) {
  const Json& now = answer["now"];
  const std::string present = printable(now.value("summary", "")) + "\n" + table_of(now, style);
  std::string out = style.paint(name, Tone::Strong) + ": ";
  if (!answer.contains("decision")) return out + present;
  const Json& decision = answer["decision"];
  out += decision_text(decision, style);
  return decision.value("stands", true) ? out
                                        : out + "Now it would be decided otherwise: " + present;
}

std::string render(const Json& answer, const std::string& output, const Style& style) {
  if (output == "json") return json_text(answer);
  if (output == "yaml") return yaml_text(answer);
  const std::string name = fmt::format("{}/{}/{}", answer.value("item", ""),
                                       answer.value("subject", ""), answer.value("index", 0));
  if (output == "name") return "instance/" + name + "\n";
  return text_of(answer, name, style);
}

// Only the control plane knows what was decided.
Result<Json> ask(const ConnectionFlags& flags, const std::string& instance) {
  const client::Client client = TRY(connect(flags));
  const auto answer = client::call<google::protobuf::Struct>(
      client, {.path = "/v1/why/" + client::encoded(instance)});
  if (!answer) return or_offline(answer.error());
  Json json = json_of(*answer);
  if (!json.contains("now")) return Error{Code::Internal, "the control plane gave no explanation"};
  return json;
}

Result<Json> plan(const PlanningFlags& flags, placement::Mode mode, const std::string& instance,
                  Console& console) {
  const World world = TRY(load_world(flags, console));
  const placement::Snapshot snapshot = snapshot_of(world);
  const auto key = TRY(codec::find_instance(instance, placement::known_instances(snapshot)));
  const Plan plan = placement::make_plan(snapshot, {.mode = mode, .explain = key});
  return Json::parse(codec::explanation_to_json(plan, placement::explanation_of(plan, key)));
}

Result<Json> explain(const PlanningFlags& flags, const std::string& instance, Console& console) {
  const placement::Mode mode = TRY(mode_of(flags));
  const bool is_about_what_is =
      !flags.offline && flags.files.empty() && mode == placement::Mode::Run;
  if (is_about_what_is) return ask(flags.connection, instance);
  return plan(flags, mode, instance, console);
}

Result<ExitCode> run(const WhyFlags& flags, Console& console) {
  PlanningFlags planning = flags.planning;
  planning.files.insert(planning.files.end(), flags.words.begin() + 1, flags.words.end());
  const Json answer = TRY(explain(planning, flags.words.front(), console));
  console.out << render(answer, flags.output, console.out_style);
  return ExitCode::Done;
}

Command declare_why(CLI::App& verb) {
  const auto flags = std::make_shared<WhyFlags>();
  verb.add_option("INSTANCE", flags->words, "item[/subject[/index]]")
      ->type_name("")
      ->required()
      ->expected(1, -1);
  declare_planning_flags(verb, flags->planning, MoreFiles::DoNotFollow);
  add_output_flag(verb, flags->output);
  verb.footer(kWhyExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb why_verb{"why", "Explain where one instance is placed, or why nowhere", declare_why};

}  // namespace berth::cli
