#include "sim/demo.h"

#include <fmt/format.h>

#include <array>

#include "control/controller.h"
#include "sim/settle.h"

namespace berth::sim {
namespace {

constexpr Duration kNodesJoinWithin = 10s;
constexpr Duration kDemoPatience = 900s;

using Row = std::array<std::string, 4>;

Row row(const model::InstanceStatus& status) {
  std::string state(to_string(status.state));
  if (!status.problem.reason.empty()) state += " " + status.problem.reason;
  if (status.unverified) state += " (unverified)";
  return {to_string(status.key), status.version, status.place ? to_string(*status.place) : "-",
          state};
}

std::string line(const Row& row, const std::array<std::size_t, 3>& widths) {
  return fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", row[0], widths[0], row[1], widths[1], row[2],
                     widths[2], row[3]);
}

}  // namespace

Result<DemoOutcome> run_demo(const Setup& setup, const model::Manifest& manifest) {
  Cluster cluster;
  control::ApplyCall apply{.call = 1, .documents = {}, .if_revision = {}};
  for (const model::Document& document : manifest) {
    if (const auto* node = std::get_if<model::Node>(&document)) {
      cluster.nodes.push_back(*node);
    } else {
      apply.documents.push_back(document);
    }
  }
  if (cluster.nodes.empty()) return invalid_input("the manifests have no Node to simulate");

  World world(setup, cluster);
  world.run_for(kNodesJoinWithin);
  for (const model::Node& node : cluster.nodes) {
    if (node.cordoned) world.call(control::CordonCall{.call = 2, .node = node.id});
  }
  const Time applied = world.now();
  world.call(apply);
  if (!setup.faults.empty()) {
    world.begin_faults();
    world.run_for(setup.faulty);
    world.heal();
  }
  DemoOutcome outcome;
  Settling settling = settle(world, kDemoPatience);
  outcome.missing = std::move(settling.missing);
  outcome.settled_after = settling.since - applied;
  outcome.violations = world.violations();
  if (world.controller() != nullptr) outcome.statuses = world.controller()->statuses();
  return outcome;
}

std::string to_table(const DemoOutcome& outcome) {
  std::vector<Row> rows{{"INSTANCE", "VERSION", "NODE/RUNTIME", "STATE"}};
  for (const auto& [key, status] : outcome.statuses) rows.push_back(row(status));
  std::array<std::size_t, 3> widths{};
  for (const Row& each : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], each[i].size());
    }
  }
  std::string table;
  for (const Row& each : rows) table += line(each, widths);
  return table;
}

}  // namespace berth::sim
