#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>
#include <set>

#include "cli/ask/planning.h"
#include "cli/ask/pool_plan.h"
#include "cli/flags.h"
#include "cli/show/plan_table.h"
#include "cli/verbs/verb.h"
#include "codec/plan_json.h"
#include "placement/downtime.h"

// `berth plan`: what would happen, before anything does.
namespace berth::cli {
namespace {

constexpr const char* kPlanExamples =
    "Examples:\n"
    "  berth plan -f app.yaml                what applying it would do to the cluster\n"
    "  berth plan --rebalance                what relieving overloaded nodes would do\n"
    "  berth plan --drain n1                 what would leave it, and what is down meanwhile\n"
    "  berth plan --offline -f cluster.yaml -f items.yaml -f deployment.yaml\n"
    "  berth plan --offline -f examples/vehicle -o wide\n"
    "  cat *.yaml | berth plan --offline -f - -o json | jq .refused\n"
    "  berth plan --offline -f examples/vehicle --rebalance --full\n"
    "  berth plan --offline -f app.yaml --pool active=3,ready=4,waiting=3\n"
    "                                        what the scaling policy of an application would do\n"
    "\n"
    "--pool: how many instances of the application are active, ready, pending, unplaced (pending "
    "and\n"
    "without a node), standby, making (for standby) and terminating, how many sessions are "
    "waiting,\n"
    "and how many slots for sessions active instances have left. -o json: {wanted, create, "
    "remove,\n"
    "wake, pause}; wanted is how many shall be pending or ready.\n"
    "Exit codes: 0 no change, 10 changes, 2 something is refused or not relieved, 3 invalid "
    "input,\n"
    "4 no such node.";

struct PlanFlags {
  PlanningFlags planning;
  std::vector<std::string> drained;
  std::string pool;
  std::string output = "table";
};

// The cluster as it would be when all of them were drained.
Result<void> drain(const std::vector<std::string>& nodes, World& world) {
  std::set<std::string> unknown(nodes.begin(), nodes.end());
  for (placement::NodeMoment& node : world.moment.nodes) {
    if (!unknown.contains(node.id.value())) continue;
    node.cordoned = true;
    if (node.drain == placement::Drain::No) node.drain = placement::Drain::Gently;
  }
  for (model::Document& document : world.documents) {
    auto* node = std::get_if<model::Node>(&document);
    if (node == nullptr || unknown.erase(node->id.value()) == 0) continue;
    node->cordoned = node->draining = true;
  }
  if (unknown.empty()) return {};
  return not_found(fmt::format("there is no node {}", *unknown.begin()));
}

// Everything that the plan speaks of, once.
std::string names_in(const placement::Plan& plan) {
  std::set<model::InstanceKey> known;
  std::string out;
  const auto add = [&](const model::InstanceKey& key) {
    if (known.insert(key).second) out += "instance/" + model::to_string(key) + "\n";
  };
  for (const auto& placement : plan.placements) add(placement.key);
  for (const auto& refusal : plan.refused) add(refusal.key);
  for (const auto& stop : plan.stops) add(stop.key);
  return out;
}

// What makes sure that what was planned is what happens.
std::string how_to_apply(const placement::Plan& plan, std::uint64_t revision) {
  if (revision == 0 || !placement::changes_anything(plan)) return "";
  return fmt::format("Planned at revision {0}: berth apply --if-revision {0} does just this.\n",
                     revision);
}

struct Planned {
  const placement::Plan& plan;
  const placement::Snapshot& snapshot;
  const PlanFlags& flags;
  std::uint64_t revision;
};

std::string render(const Planned& planned, const Style& style) {
  const auto& [plan, snapshot, flags, revision] = planned;
  const std::string& output = flags.output;
  if (output == "name") return names_in(plan);
  auto downtimes = placement::downtimes_of(snapshot, plan);
  if (output == "json") return codec::plan_to_json(plan, revision, downtimes);
  if (output == "yaml") return codec::plan_to_yaml(plan, revision, downtimes);
  return plan_table({.plan = plan,
                     .directory = placement::Directory(snapshot),
                     .detail = output == "wide" ? Detail::Wide : Detail::Short,
                     .style = style,
                     .downtimes = std::move(downtimes)}) +
         (flags.planning.files.empty() ? "" : how_to_apply(plan, revision));
}

ExitCode exit_code_of_plan(const placement::Plan& plan) {
  const auto is_unrelieved = [](const placement::Relief& relief) {
    return relief.unrelieved.has_value();
  };
  if (!plan.refused.empty() || std::ranges::any_of(plan.relief, is_unrelieved)) {
    return ExitCode::NotEverythingPlaced;
  }
  return placement::changes_anything(plan) ? ExitCode::Changes : ExitCode::Done;
}

Result<ExitCode> run_pool(const PlanFlags& flags, Console& console) {
  const PlanningFlags& planning = flags.planning;
  if (planning.replan || planning.rebalance || !flags.drained.empty()) {
    return invalid_input("--pool excludes --replan, --rebalance and --drain");
  }
  if (!planning.offline) return invalid_input("--pool is for --offline: it needs no control plane");
  return plan_pool({planning.files, flags.pool, flags.output}, console);
}

Result<ExitCode> run(const PlanFlags& flags, Console& console) {
  const placement::Mode mode = TRY(mode_of(flags.planning));
  if (!flags.pool.empty()) return run_pool(flags, console);
  World world = TRY(load_world(flags.planning, console));
  TRY(drain(flags.drained, world));
  const placement::Snapshot snapshot = snapshot_of(world);
  const placement::Plan plan =
      placement::make_plan(snapshot, {.mode = mode, .explain = std::nullopt});
  Style style = console.out_style;
  style.columns = 0;  // what would happen is never shortened
  console.out << render({plan, snapshot, flags, world.revision}, style);
  return exit_code_of_plan(plan);
}

Command declare_plan(CLI::App& verb) {
  const auto flags = std::make_shared<PlanFlags>();
  declare_planning_flags(verb, flags->planning, MoreFiles::Follow);
  verb.add_option("--drain", flags->drained, "What draining this node would do; repeatable")
      ->type_name("NODE")
      ->envname("BERTH_DRAIN")
      ->allow_extra_args(false);
  verb.add_option("--pool", flags->pool,
                  "What the scaling policy would do to such pools: active=3,ready=4,waiting=3")
      ->type_name("SIZES")
      ->envname("BERTH_POOL");
  add_output_flag(verb, flags->output);
  verb.footer(kPlanExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb plan_verb{"plan", "Show what would run where, before anything happens", declare_plan};

}  // namespace berth::cli
