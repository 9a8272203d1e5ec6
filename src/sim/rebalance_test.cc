#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "control/controller.h"
#include "sim/world.h"

// Whole units whose nodes are overloaded by what instances really use.
namespace berth::sim {
namespace {

constexpr std::int64_t kCapacity = 1000;
constexpr std::int64_t kMin = 750;
constexpr Duration kTimeout = 30s;

model::Node a_hot_node(std::size_t number) {
  model::Node node;
  node.id = model::NodeId(fmt::format("n{:02}", number));
  node.info.capacity = {Dmips(kCapacity), Bytes(1 << 30)};
  node.info.runtimes.push_back({.id = model::RuntimeId("process"),
                                .type = model::RuntimeType::Process,
                                .platform = {},
                                .limits = {}});
  return node;
}

Cluster a_cluster(std::size_t nodes) {
  Cluster cluster;
  for (std::size_t i = 0; i < nodes; ++i) cluster.nodes.push_back(a_hot_node(i));
  return cluster;
}

// One service, so many instances, and a rule for the cpu of all nodes.
control::ApplyCall apply(std::uint32_t instances) {
  model::Item item;
  item.id = model::ItemId("service");
  item.version = "1";
  item.images.push_back({.platform = {}, .runtimes = {}, .form = model::CommandImage{{"run"}}});
  item.request.cpu = Dmips(10);
  model::RunRequest run;
  run.item = item.id;
  run.version = "1";
  run.instances = instances;
  model::NodeConfig config;
  config.name = "everywhere";
  config.thresholds.emplace();
  config.thresholds->cpu = model::ThresholdRule{.min = 75, .max = 85, .timeout = kTimeout};
  return {.call = 1,
          .documents = {item, model::Deployment{.name = "d", .run = {run}}, config},
          .if_revision = {}};
}

using Cpu = std::map<model::InstanceKey, std::int64_t>;
using Places = std::map<model::InstanceKey, model::NodeId>;

// A calm unit in which the test says what each instance uses.
class Unit {
 public:
  Unit(std::size_t nodes, std::uint32_t instances, std::uint32_t noise_percent)
      : world_({.seed = 1,
                .faults = {},
                .loads = Loads{.of =
                                   [cpu = cpu_](const model::InstanceKey& key, Time) {
                                     const auto found = cpu->find(key);
                                     return model::Usage{
                                         Dmips(found == cpu->end() ? 10 : found->second), Bytes(1)};
                                   },
                               .noise_percent = noise_percent}},
               a_cluster(nodes)) {
    world_.run_for(10s);
    world_.call(apply(instances));
    world_.run_for(15s);
  }

  Cpu& cpu() { return *cpu_; }
  void run_for(Duration duration) { world_.run_for(duration); }

  Places places() const {
    Places places;
    for (const auto& [key, record] : world_.controller()->durable().instances) {
      if (record.place) places.emplace(key, record.place->node);
    }
    return places;
  }

  std::int64_t used(const model::NodeId& node) const {
    std::int64_t sum = 0;
    for (const auto& [key, at] : places()) {
      if (at == node) sum += cpu_->contains(key) ? cpu_->at(key) : 10;
    }
    return sum;
  }

  std::size_t overloaded() const {
    const control::Controller& controller = *world_.controller();
    return static_cast<std::size_t>(std::ranges::count_if(
        controller.nodes(),
        [&](const auto& entry) { return controller.load_of(entry.first).is_overloaded(); }));
  }

  void expect_no_violations() const {
    for (const Violation& violation : world_.violations()) {
      ADD_FAILURE() << violation.checker << ": " << violation.what;
    }
  }

 private:
  std::shared_ptr<Cpu> cpu_ = std::make_shared<Cpu>();
  World world_;
};

std::size_t moved(const Places& before, const Places& after) {
  std::size_t count = 0;
  for (const auto& [key, node] : after) count += before.at(key) != node ? 1U : 0U;
  return count;
}

// No plan can relieve the node with fewer: that many of its greatest must go.
std::size_t fewest_to_relieve(const model::NodeId& node, const Places& places, const Cpu& cpu) {
  std::vector<std::int64_t> loads;
  std::int64_t used = 0;
  for (const auto& [key, at] : places) {
    if (at != node) continue;
    loads.push_back(cpu.at(key));
    used += cpu.at(key);
  }
  std::ranges::sort(loads, std::greater<>());
  std::size_t count = 0;
  while (used > kMin) used -= loads[count++];
  return count;
}

TEST(Rebalance, SixteenHotNodesOfSixtyFourAreRelievedWithNextToNoMoves) {
  Unit unit(64, 1000, 2);
  const Places before = unit.places();
  ASSERT_EQ(before.size(), 1000U);
  Random random(7);
  std::map<model::NodeId, bool> hot;
  for (std::size_t i = 0; i < 64; ++i) hot[a_hot_node(i).id] = i % 4 == 0;
  for (const auto& [key, node] : before) {
    unit.cpu()[key] = hot[node] ? random.between(45, 80) : random.between(10, 50);
  }
  std::size_t lower_bound = 0;
  std::size_t hot_nodes = 0;
  for (const auto& [node, is_hot] : hot) {
    if (unit.used(node) <= 870) continue;
    ++hot_nodes;
    lower_bound += fewest_to_relieve(node, before, unit.cpu());
  }
  ASSERT_EQ(hot_nodes, 16U);

  unit.run_for(300s);  // those that are overloaded a little later have to wait for the first
  const Places after = unit.places();
  EXPECT_LE(moved(before, after), 2 * lower_bound) << "the lower bound is " << lower_bound;
  EXPECT_GE(moved(before, after), lower_bound);
  for (const auto& [node, is_hot] : hot) EXPECT_LE(unit.used(node), 870) << node.value();
  unit.expect_no_violations();
}

// Two nodes; those on n00 use so much.
class TwoNodes : public testing::Test {
 protected:
  void heat(std::int64_t each) {
    for (const auto& [key, node] : unit.places()) {
      if (node == a_hot_node(0).id) unit.cpu()[key] = each;
    }
  }

  Unit unit{2, 20, 0};
};

TEST_F(TwoNodes, ASpikeShorterThanTheTimeoutMovesNothing) {
  const Places before = unit.places();
  for (int i = 0; i < 10; ++i) {
    heat(95);
    unit.run_for(20s);
    heat(10);
    unit.run_for(120s);
  }
  EXPECT_EQ(moved(before, unit.places()), 0U);
  unit.expect_no_violations();
}

TEST_F(TwoNodes, ThereIsNoSecondRebalanceBeforeTheFirstHasBeenMeasured) {
  const Places before = unit.places();
  heat(95);
  while (moved(before, unit.places()) == 0) unit.run_for(1s);
  const Places first = unit.places();
  EXPECT_EQ(moved(before, first), 3U) << "950 - 3 * 95 = 665";
  unit.run_for(59s);
  EXPECT_EQ(moved(first, unit.places()), 0U);
  unit.run_for(600s);
  EXPECT_EQ(moved(first, unit.places()), 0U);
  EXPECT_EQ(unit.overloaded(), 0U);
  unit.expect_no_violations();
}

}  // namespace
}  // namespace berth::sim
