#include "placement/cluster/batch.h"

#include <gtest/gtest.h>

#include "placement/testing.h"
#include "placement/testing_plans.h"

// A batch decides as the plan does, instance by instance.
namespace berth::placement {
namespace {

// By instance: "n1/p image 0", or why it is refused.
using Decided = std::map<std::string, std::string>;

std::string to_text(const model::Place& place, std::uint32_t image) {
  return fmt::format("{} image {}", model::to_string(place), image);
}

Decided decided_by(const Plan& plan) {
  Decided decided;
  for (const Placement& placement : plan.placements) {
    decided[model::to_string(placement.key)] = to_text(placement.place, placement.image);
  }
  for (const Refusal& refusal : plan.refused) {
    decided[model::to_string(refusal.key)] = model::to_string(refusal.reason);
  }
  return decided;
}

struct PlacedBatch {
  Decided decided;
  BatchOutcome outcome;
  std::vector<model::Usage> reserved;  // by node
};

PlacedBatch place(const Snapshot& snapshot) {
  PlacedBatch placed;
  Cluster cluster(snapshot.nodes);
  const auto listen = [&](const BatchPart& part) {
    for (std::size_t i = 0; i < part.indices.size(); ++i) {
      const model::InstanceKey key{part.request.key.item, part.request.key.subject,
                                   part.indices[i]};
      std::string text;
      if (i < part.spots.size()) {
        const Spot& spot = part.spots[i];
        const SnapshotNode& node = cluster.nodes()[spot.node];
        text = to_text({node.id, node.info->runtimes[spot.runtime].id}, spot.image);
      } else {
        text = model::to_string(part.reason.value());
      }
      EXPECT_TRUE(placed.decided.emplace(model::to_string(key), text).second) << "told twice";
    }
  };
  placed.outcome = place_batch(cluster, expand_runs(snapshot), listen);
  for (std::size_t node = 0; node < snapshot.nodes.size(); ++node) {
    placed.reserved.push_back(cluster.ledger().reserved_on(node));
  }
  return placed;
}

void expect_same(const PlacedBatch& placed, const Snapshot& snapshot, const Plan& plan) {
  EXPECT_EQ(placed.decided, decided_by(plan));
  EXPECT_EQ(placed.outcome.instances, plan.placements.size() + plan.refused.size());
  EXPECT_EQ(placed.outcome.placed, plan.placements.size());
  std::map<Reason, std::uint64_t> reasons;
  for (const Refusal& refusal : plan.refused) ++reasons[refusal.reason];
  std::map<Reason, std::uint64_t> counted;
  for (const auto& [reason, refusal] : placed.outcome.refused) {
    counted[reason] = refusal.instances;
    const auto first = std::ranges::find(plan.refused, reason, &Refusal::reason);
    ASSERT_NE(first, plan.refused.end());
    EXPECT_EQ(refusal.first, first->key);
  }
  EXPECT_EQ(counted, reasons);
  for (std::size_t node = 0; node < snapshot.nodes.size(); ++node) {
    const auto load = std::ranges::find(plan.nodes, snapshot.nodes[node].id, &NodeLoad::node);
    EXPECT_EQ(placed.reserved[node], load->reserved) << load->node.value();
  }
}

// Some have data somewhere, some have failed to come up somewhere.
void draw_past(Snapshot& snapshot, Random& random) {
  for (const Ask& request : expand(snapshot)) {
    const auto& node = snapshot.nodes[random.below(snapshot.nodes.size())].id;
    if (random.below(10) == 0) snapshot.homes[request.key] = {node, random.below(2) == 0};
    if (random.below(10) == 0) snapshot.avoided[request.key].insert(node);
  }
}

const ClusterShape kManyReplicas{
    .nodes_max = 20, .items_max = 8, .requests_max = 12, .instances_max = 40, .running_ppm = 0};

TEST(Batch, PlacesAnewAsAPlanDoes) {
  const auto check = [](const model::Manifest& manifest, Random& random) {
    Snapshot snapshot = snapshot_of(manifest);
    if (random.below(2) == 0) draw_past(snapshot, random);
    const PlacedBatch placed = place(snapshot);
    expect_same(placed, snapshot,
                make_plan(snapshot, {.mode = Mode::Replan, .verdicts = Verdicts::ReasonOnly}));
    EXPECT_EQ(placed.outcome.kept, 0u);
  };
  for_random_clusters(check, kManyReplicas);
}

// Everybody counts the same, so that nobody is displaced.
model::Manifest with_one_priority(model::Manifest manifest, Random& random) {
  for (model::Document& document : manifest) {
    if (auto* deployment = std::get_if<model::Deployment>(&document)) {
      for (model::RunRequest& run : deployment->run) run.priority = 0;
    }
    if (auto* node = std::get_if<model::Node>(&document)) node->draining = random.below(6) == 0;
  }
  return manifest;
}

TEST(Batch, KeepsWhatRunsAsAPlanDoes) {
  std::uint64_t kept = 0;
  const auto check = [&kept](const model::Manifest& drawn, Random& random) {
    const model::Manifest manifest = with_one_priority(drawn, random);
    Snapshot snapshot = snapshot_of(manifest);
    if (random.below(2) == 0) draw_past(snapshot, random);
    for (auto& [key, present] : snapshot.present) present.finished = random.below(8) == 0;
    const PlacedBatch placed = place(snapshot);
    expect_same(placed, snapshot,
                make_plan(snapshot, {.mode = Mode::Run, .verdicts = Verdicts::ReasonOnly}));
    kept += placed.outcome.kept;
  };
  ClusterShape shape = kManyReplicas;
  for (const std::uint32_t instances : {4u, 30u}) {
    shape.running_ppm = 700'000;
    shape.instances_max = instances;
    for_random_clusters(check, shape);
  }
  EXPECT_GT(kept, 1000u);
}

TEST(Batch, ExpandsToTheSameInstances) {
  const auto check = [](const model::Manifest& manifest, Random& random) {
    Snapshot snapshot = snapshot_of(manifest);
    draw_past(snapshot, random);
    std::vector<std::string> expected;
    for (const Ask& request : expand(snapshot)) {
      expected.push_back(model::to_string(request.key));
    }
    std::vector<std::string> names;
    const std::vector<AskedRun> runs = expand_runs(snapshot);
    for (const AskedRun& run : runs) {
      std::set<model::InstanceKey> keys;
      for (const Ask& other : run.others) keys.insert(other.key);
      for (std::uint32_t index = 0; index < run.instances; ++index) {
        keys.insert({run.alike.key.item, run.alike.key.subject, index});
      }
      for (const model::InstanceKey& key : keys) names.push_back(model::to_string(key));
    }
    EXPECT_EQ(names, expected);
    EXPECT_EQ(instances_of(runs), expected.size());
  };
  for_random_clusters(check, {});
}

TEST(Batch, CountsRefusalsAndNamesTheFirst) {
  const model::Manifest manifest{a_node("n1"),
                                 a_node("n2").with_cpu(500),
                                 an_item("app").asking_cpu(400),
                                 a_run("app", {.instances = 20}),
                                 an_item("low").asking_cpu(400),
                                 a_run("low", {.priority = -1, .instances = 5})};
  const PlacedBatch placed = place(snapshot_of(manifest));
  EXPECT_EQ(placed.outcome.instances, 25u);
  EXPECT_EQ(placed.outcome.placed, 3u);
  EXPECT_EQ(placed.outcome.refused_count(), 22u);
  ASSERT_EQ(placed.outcome.refused.size(), 1u);
  const auto& [reason, refusal] = *placed.outcome.refused.begin();
  EXPECT_EQ(reason, Reason::InsufficientCpu);
  EXPECT_EQ(refusal.instances, 22u);
  EXPECT_EQ(refusal.first, key("app", 3));
}

// Of one run request, so that a reason that is remembered would be taken for another's.
TEST(Batch, TellsEachVersionTheReasonOfTheEnd) {
  const model::Manifest manifest{a_node("n1"),
                                 an_item("app").with_version("1").asking_cpu(600).asking_ram(2000),
                                 an_item("app").with_version("2").asking_cpu(500).asking_ram(10),
                                 an_item("app").with_version("3").asking_cpu(100).asking_ram(2000),
                                 a_run("app", {.instances = 4})};
  Snapshot snapshot = snapshot_of(manifest);
  snapshot.versions[{key("app").item, key("app").subject}] = {"1", {{1, "2"}, {3, "3"}}};
  const PlacedBatch placed = place(snapshot);
  EXPECT_EQ(placed.decided, (Decided{{"app/x/0", "InsufficientCpu"},
                                     {"app/x/1", "n1/p image 0"},
                                     {"app/x/2", "InsufficientCpu"},
                                     {"app/x/3", "InsufficientRam"}}));
  expect_same(placed, snapshot, make_plan(snapshot, {.mode = Mode::Replan}));
}

TEST(Batch, NamesTheFirstInSchedulingOrderAlsoIfALaterOneIsLeftAlone) {
  const model::Manifest manifest{
      a_node("n1").running("pinned", 0), an_item("pinned").asking_cpu(2000).pinned(),
      a_run("pinned"), an_item("urgent").asking_cpu(5000), a_run("urgent", {.priority = 5})};
  const Snapshot snapshot = snapshot_of(manifest);
  const PlacedBatch placed = place(snapshot);
  ASSERT_EQ(placed.outcome.refused.size(), 1u);
  EXPECT_EQ(placed.outcome.refused.begin()->second.first, key("urgent"));
  expect_same(placed, snapshot, make_plan(snapshot, {.mode = Mode::Run}));
}

TEST(Batch, RefusesEverybodyWhereThereIsNoNode) {
  const model::Manifest manifest{an_item("app"), a_run("app", {.instances = 20})};
  const BatchOutcome outcome = place(snapshot_of(manifest)).outcome;
  EXPECT_EQ(outcome.refused_count(), 20u);
  EXPECT_EQ(outcome.refused.begin()->first, Reason::NoConnectedNodes);
}

}  // namespace
}  // namespace berth::placement
