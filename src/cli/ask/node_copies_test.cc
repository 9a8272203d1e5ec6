#include "cli/ask/node_copies.h"

#include <gtest/gtest.h>

#include "placement/testing.h"

namespace berth::cli {
namespace {

using placement::a_node;
using placement::Snapshot;

model::Manifest three_nodes() {
  model::NodeConfig config;
  config.name = "for-n2";
  config.node = model::NodeId{"n2"};
  config.priority = 7;
  return {a_node("n1").running("app", 0), a_node("n2"), a_node("big").with_cpu(9000), config};
}

std::vector<std::string> names_of(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const auto& node : snapshot.nodes) names.push_back(node.id.value());
  return names;
}

TEST(NodeCopies, AreMadeInTurnAndNothingRunsOnThem) {
  model::Manifest manifest = three_nodes();
  const auto snapshot = snapshot_with_copies({.nodes = 10, .like = {"n1", "n2", "n2"}}, manifest);
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(names_of(*snapshot),
            (std::vector<std::string>{"n1-01", "n2-01", "n2-02", "n1-02", "n2-03", "n2-04", "n1-03",
                                      "n2-05", "n2-06", "n1-04"}));
  EXPECT_TRUE(snapshot->present.empty());
  EXPECT_TRUE(snapshot->bound.empty());
  EXPECT_EQ(snapshot->nodes[0].settings.priority, 0);
  EXPECT_EQ(snapshot->nodes[1].settings.priority, 7) << "its node config counts for its copies";
}

TEST(NodeCopies, AreOfAllNodesIfNoneIsNamed) {
  model::Manifest manifest = three_nodes();
  const auto snapshot = snapshot_with_copies({.nodes = 4, .like = {}}, manifest);
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(names_of(*snapshot), (std::vector<std::string>{"n1-1", "n2-1", "big-1", "n1-2"}));
}

TEST(NodeCopies, LeaveTheClusterAsItIsIfNobodyAsksForThem) {
  model::Manifest manifest = three_nodes();
  const auto snapshot = snapshot_with_copies({}, manifest);
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(names_of(*snapshot), (std::vector<std::string>{"n1", "n2", "big"}));
  EXPECT_EQ(snapshot->present.size(), 1u);
}

TEST(NodeCopies, AreMeantByRunRequestsThatNameTheirNode) {
  model::RunRequest run;
  run.item = model::ItemId{"app"};
  run.nodes = {model::NodeId{"n2"}, model::NodeId{"elsewhere"}};
  run.instances = 9;
  model::RunRequest lost = run;
  lost.subject = model::SubjectId{"lost"};
  lost.nodes = {model::NodeId{"big"}};
  model::Manifest manifest = three_nodes();
  manifest.emplace_back(placement::an_item("app").asking_cpu(500));
  manifest.emplace_back(model::Deployment{"base", {run, lost}});
  auto snapshot = snapshot_with_copies({.nodes = 6, .like = {"n1", "n2"}}, manifest);
  ASSERT_TRUE(snapshot);
  const placement::Plan plan = make_plan(*snapshot, {.mode = placement::Mode::Replan});
  ASSERT_EQ(plan.placements.size(), 6u) << "two on each copy of n2";
  for (const placement::Placement& placement : plan.placements) {
    EXPECT_TRUE(placement.place.node.value().starts_with("n2-"));
  }
  EXPECT_EQ(plan.refused.back().reason, model::Reason::NoMatchingNodeId)
      << "of what is not copied there is none";
}

TEST(NodeCopies, SayWhatIsWrongAndGuessWhatWasMeant) {
  model::Manifest manifest = three_nodes();
  EXPECT_EQ(snapshot_with_copies({.nodes = 4, .like = {"n1", "bgi"}}, manifest).error().message,
            "--like: the files describe no node \"bgi\". Did you mean \"big\"?");
  EXPECT_EQ(snapshot_with_copies({.nodes = {}, .like = {"n1"}}, manifest).error().code,
            Code::InvalidInput);
  model::Manifest empty;
  EXPECT_EQ(snapshot_with_copies({.nodes = 4, .like = {}}, empty).error().code, Code::InvalidInput);
}

}  // namespace
}  // namespace berth::cli
