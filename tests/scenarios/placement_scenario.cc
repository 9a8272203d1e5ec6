#include "placement_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "codec/manifest.h"
#include "placement/plan.h"
#include "placement/snapshot.h"
#include "plan_text.h"

namespace berth::scenarios {
namespace {

bool has_flag(const Step& step, std::string_view flag) {
  return std::ranges::find(step.arguments, flag) != step.arguments.end();
}

placement::Mode mode_of(const Step& step) {
  if (has_flag(step, "--replan")) return placement::Mode::Replan;
  if (!has_flag(step, "--rebalance")) return placement::Mode::Run;
  return has_flag(step, "--full") ? placement::Mode::RebalanceFull
                                  : placement::Mode::RebalanceMinimal;
}

std::string document(std::string_view kind, const std::string& name, const std::string& spec) {
  return fmt::format("--- {{apiVersion: berth/v1, kind: {}, metadata: {{name: {}}}, spec: {}}}\n",
                     kind, name, spec);
}

// One document of the short form, as YAML of one line, so that diagnostics name the right line.
std::string expand(const std::string& line, std::size_t number) {
  std::istringstream words(line);
  std::string kind;
  std::string name;
  words >> kind;
  if (kind != "run") words >> name;
  std::string spec;
  std::getline(words, spec);
  if (kind == "node") return document("Node", name, spec);
  if (kind == "item") return document("Item", name, spec);
  if (kind == "config") return document("NodeConfig", name, spec);
  if (kind == "run") {
    return document("Deployment", fmt::format("run-{}", number),
                    fmt::format("{{run: [{}]}}", spec));
  }
  return line + '\n';
}

std::string expand_all(const std::string& documents) {
  std::string yaml;
  std::istringstream lines(documents);
  std::string pending;
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line); ++number) {
    if (line.starts_with(' ')) {
      pending += line;
      continue;
    }
    if (!pending.empty()) yaml += expand(pending, number);
    pending = line;
  }
  if (!pending.empty()) yaml += expand(pending, number);
  return yaml;
}

bool is_yaml(const std::string& documents) { return documents.starts_with("apiVersion:"); }

// "item/subject/index"
std::optional<model::InstanceKey> key_of(const std::string& text) {
  const auto first = text.find('/');
  const auto second = text.find('/', first + 1);
  if (first == std::string::npos || second == std::string::npos) return std::nullopt;
  return model::InstanceKey{model::ItemId{text.substr(0, first)},
                            model::SubjectId{text.substr(first + 1, second - first - 1)},
                            static_cast<std::uint32_t>(std::stoul(text.substr(second + 1)))};
}

}  // namespace

std::string PlacementScenario::answer(const Step& step) {
  if (step.command == "cluster") return read(step.input);
  if (step.command == "also") return read(documents_ + step.input);
  if (step.command == "plan") return plan(step);
  if (step.command == "why") return why(step);
  return fmt::format("unknown directive {}\n", step.command);
}

std::string PlacementScenario::read(const std::string& documents) {
  documents_ = documents;
  auto parsed =
      codec::parse_manifests({{"cluster", is_yaml(documents) ? documents : expand_all(documents)}});
  manifest_ = std::move(parsed.documents);
  if (parsed.ok()) return "ok\n";
  std::string answer;
  for (const codec::Diagnostic& diagnostic : parsed.diagnostics) {
    answer += to_string(diagnostic) + '\n';
  }
  return answer;
}

std::string PlacementScenario::plan(const Step& step) const {
  const placement::Snapshot snapshot = placement::snapshot_of(manifest_);
  const placement::Plan plan = placement::make_plan(snapshot, {.mode = mode_of(step)});
  return to_text(plan) + (has_flag(step, "--nodes") ? nodes_to_text(plan) : "");
}

std::string PlacementScenario::why(const Step& step) const {
  const placement::Snapshot snapshot = placement::snapshot_of(manifest_);
  placement::Options options{.mode = mode_of(step)};
  if (!step.arguments.empty()) options.explain = key_of(step.arguments.front());
  const placement::Plan plan = placement::make_plan(snapshot, options);
  return plan.explanation ? to_text(*plan.explanation) : "nobody asks for it\n";
}

}  // namespace berth::scenarios
