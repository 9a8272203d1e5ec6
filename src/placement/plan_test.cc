#include "placement/plan.h"

#include <gtest/gtest.h>

#include "placement/explanation.h"
#include "placement/testing.h"

namespace berth::placement {
namespace {

SnapshotNode& view(Snapshot& snapshot, const char* id) {
  for (SnapshotNode& node : snapshot.nodes) {
    if (node.id == model::NodeId{id}) return node;
  }
  CHECK(false, "the test names a node that is there");
}

TEST(Plan, AnUnreachableNodeKeepsWhatItRunsButGetsNothingNew) {
  const model::Manifest manifest{an_item("a").asking_cpu(10), a_run("a", {.instances = 2}),
                                 a_node("n1").with_cpu(100), a_node("n2").running("a", 0)};
  Snapshot snapshot = snapshot_of(manifest);
  view(snapshot, "n2").reachability = Reachability::Unreachable;
  const Plan plan = make_plan(snapshot, {});
  EXPECT_EQ(place_of(plan, key("a", 0)), "n2/p");
  EXPECT_EQ(place_of(plan, key("a", 1)), "n1/p");
}

TEST(Plan, ALostNodeLosesWhatItRuns) {
  const model::Manifest manifest{an_item("a").asking_cpu(10), a_run("a"),
                                 a_node("n1").with_cpu(100), a_node("n2").running("a", 0)};
  Snapshot snapshot = snapshot_of(manifest);
  view(snapshot, "n2").reachability = Reachability::Lost;
  const Plan plan = make_plan(snapshot, {});
  ASSERT_EQ(plan.placements.size(), 1U);
  EXPECT_EQ(plan.placements[0].action, Action::Move);
  EXPECT_EQ(plan.placements[0].from, (model::Place{model::NodeId{"n2"}, model::RuntimeId{"p"}}));
}

TEST(Plan, AnUnreachableNodeInErrorKeepsNothing) {
  const model::Manifest manifest{an_item("a"), a_run("a"), a_node("n1"),
                                 a_node("n2").running("a", 0)};
  Snapshot snapshot = snapshot_of(manifest);
  SnapshotNode& node = view(snapshot, "n2");
  model::NodeInfo failed = *node.info;
  failed.state = model::NodeState::Error;
  node.info = &failed;
  node.reachability = Reachability::Unreachable;
  EXPECT_EQ(place_of(make_plan(snapshot, {}), key("a")), "n1/p");
}

TEST(Plan, SaysWhichMovesLeaveStorageBehind) {
  const auto moves_from = [](const model::ResourceSpec& quotas,
                             const model::Partitions& partitions) {
    const model::Manifest manifest{an_item("a").asking_cpu(10).with_quotas(quotas), a_run("a"),
                                   a_node("n1").with_cpu(100),
                                   a_node("n2").with_partitions(partitions).running("a", 0)};
    Snapshot snapshot = snapshot_of(manifest);
    view(snapshot, "n2").reachability = Reachability::Lost;
    return make_plan(snapshot, {}).placements.at(0);
  };
  EXPECT_TRUE(moves_from({.storage = Bytes{1}}, {}).leaves_storage);
  EXPECT_FALSE(moves_from({}, {}).leaves_storage);
  EXPECT_FALSE(moves_from({.storage = Bytes{1}}, {.unit_wide = true}).leaves_storage);
}

TEST(Plan, WhatHasStoredSomethingComesBackToItIfItCan) {
  const model::Manifest manifest{an_item("a").asking_cpu(10).with_quotas({.storage = Bytes{1}}),
                                 a_run("a"), a_node("n1").with_cpu(1000),
                                 a_node("n2").with_cpu(100)};
  Snapshot snapshot = snapshot_of(manifest);
  EXPECT_EQ(place_of(make_plan(snapshot, {}), key("a")), "n1/p");
  snapshot.homes[key("a")] = {model::NodeId{"n2"}};
  const Plan back = make_plan(snapshot, {.explain = key("a")});
  EXPECT_EQ(place_of(back, key("a")), "n2/p");
  EXPECT_FALSE(back.placements.at(0).leaves_storage);
  EXPECT_EQ(explanation_of(back, key("a")).nodes.at(0).detail,
            "fits, but what it has stored is on n2");
  view(snapshot, "n2").reachability = Reachability::Lost;
  const Plan elsewhere = make_plan(snapshot, {});
  EXPECT_EQ(place_of(elsewhere, key("a")), "n1/p");
  EXPECT_TRUE(elsewhere.placements.at(0).leaves_storage);
}

TEST(Plan, WhatHasStoredNothingComesBackWhereItFitsBest) {
  const model::Manifest manifest{an_item("a").asking_cpu(10), a_run("a"),
                                 a_node("n1").with_cpu(1000), a_node("n2").with_cpu(100)};
  Snapshot snapshot = snapshot_of(manifest);
  snapshot.homes[key("a")] = {model::NodeId{"n2"}};
  EXPECT_EQ(place_of(make_plan(snapshot, {}), key("a")), "n1/p");
}

TEST(Plan, AResourceNamedTwiceTakesOneUnit) {
  const model::Manifest manifest{an_item("a").sharing({"camera", "camera"}),
                                 a_run("a", {.instances = 2}),
                                 a_node("n1").with_resource("camera", 2)};
  EXPECT_TRUE(plan_of(manifest).refused.empty());
}

TEST(Plan, OfTwoCopiesTheSmallerPlaceCountsInAnyOrder) {
  const model::Document n1 = a_node("n1").with_cpu(100).running("a", 0);
  const model::Document n2 = a_node("n2").running("a", 0);
  EXPECT_EQ(place_of(plan_of({an_item("a"), a_run("a"), n1, n2}), key("a")), "n1/p");
  EXPECT_EQ(place_of(plan_of({an_item("a"), a_run("a"), n2, n1}), key("a")), "n1/p");
}

TEST(Plan, AnIndexThatIsBoundToAVanishedRuntimeIsNotTakenAgain) {
  const model::Manifest manifest{an_item("a").of_type(model::ItemType::Component),
                                 a_run("a", {.instances = std::nullopt}), a_node("n1")};
  Snapshot snapshot = snapshot_of(manifest);
  snapshot.bound.emplace(key("a", 0), model::Place{model::NodeId{"n0"}, model::RuntimeId{"p"}});
  EXPECT_EQ(place_of(make_plan(snapshot, {}), key("a", 1)), "n1/p");
}

TEST(Plan, AnIndexComesBackWithItsRuntime) {
  const model::Manifest manifest{an_item("a").of_type(model::ItemType::Component),
                                 a_run("a", {.instances = std::nullopt}), a_node("n1"),
                                 a_node("n2")};
  Snapshot snapshot = snapshot_of(manifest);
  snapshot.bound.emplace(key("a", 0), model::Place{model::NodeId{"n2"}, model::RuntimeId{"p"}});
  const Plan plan = make_plan(snapshot, {});
  EXPECT_EQ(place_of(plan, key("a", 0)), "n2/p");
  EXPECT_EQ(place_of(plan, key("a", 1)), "n1/p");
}

TEST(Plan, APinnedInstanceOfAnUnknownNodeIsRefusedAndLeftAlone) {
  const model::Manifest manifest{an_item("a").pinned(), a_run("a"), a_node("n1")};
  Snapshot snapshot = snapshot_of(manifest);
  const model::Place gone{model::NodeId{"n0"}, model::RuntimeId{"p"}};
  snapshot.present.emplace(key("a"), Present{gone, "1", {}});
  for (const Mode mode : {Mode::Run, Mode::RebalanceFull}) {
    const Plan plan = make_plan(snapshot, {.mode = mode});
    ASSERT_NE(refusal_of(plan, key("a")), nullptr);
    EXPECT_EQ(refusal_of(plan, key("a"))->reason, Reason::NoConnectedNodes);
    EXPECT_TRUE(refusal_of(plan, key("a"))->left_running);
    EXPECT_TRUE(plan.stops.empty());
  }
  EXPECT_EQ(place_of(make_plan(snapshot, {.mode = Mode::Replan}), key("a")), "n1/p");
}

TEST(Plan, APinnedInstanceThatOnlyWaitsToBeginIsPlacedLikeAnyOther) {
  const model::Manifest manifest{an_item("a").pinned(), a_run("a"), a_node("n1")};
  Snapshot snapshot = snapshot_of(manifest);
  const model::Place gone{model::NodeId{"n0"}, model::RuntimeId{"p"}};
  snapshot.present.emplace(key("a"), Present{.place = gone, .version = "1", .untold = true});
  for (const Mode mode : {Mode::Run, Mode::RebalanceFull}) {
    EXPECT_EQ(place_of(make_plan(snapshot, {.mode = mode}), key("a")), "n1/p");
  }
}

TEST(Plan, WhatRunsKeepsItsRoomBeforeWhatWaitsToBegin) {
  const model::Document n1 = a_node("n1").with_cpu(100).running("a", 0).running("b", 0);
  const model::Manifest manifest{an_item("a").asking_cpu(80), a_run("a"),
                                 an_item("b").asking_cpu(80), a_run("b"), n1};
  Snapshot snapshot = snapshot_of(manifest);
  snapshot.present.at(key("a")).untold = true;
  const Plan plan = make_plan(snapshot, {});
  EXPECT_EQ(place_of(plan, key("b")), "n1/p");
  EXPECT_NE(refusal_of(plan, key("a")), nullptr);
}

TEST(Plan, AnUpdateOfWhatIsPinnedDoesNotTakeTheRoomThatAHigherPriorityWaitsFor) {
  const model::Document n1 = a_node("n1").with_cpu(100).running("pin", 0).running("x", 0);
  model::Document updated = a_run("pin");
  std::get<model::Deployment>(updated).run.front().version = "2";
  const model::Manifest manifest{an_item("pin").pinned().asking_cpu(20),
                                 an_item("pin").pinned().with_version("2").asking_cpu(40),
                                 updated,
                                 an_item("x").asking_cpu(80),
                                 a_run("x", {.priority = 9}),
                                 n1};
  Snapshot snapshot = snapshot_of(manifest);
  snapshot.present.at(key("x")).untold = true;
  const Plan plan = make_plan(snapshot, {});
  EXPECT_EQ(place_of(plan, key("x")), "n1/p");
  ASSERT_NE(refusal_of(plan, key("pin")), nullptr);
  EXPECT_TRUE(refusal_of(plan, key("pin"))->left_running);
}

TEST(Plan, ReasonsAreTheSameWithoutVerdicts) {
  const model::Manifest manifest{an_item("a").asking_cpu(2000), a_run("a"), a_node("n1")};
  const Plan brief = plan_of(manifest, {.verdicts = Verdicts::ReasonOnly});
  ASSERT_EQ(brief.refused.size(), 1U);
  EXPECT_EQ(brief.refused[0].reason, Reason::InsufficientCpu);
  EXPECT_TRUE(brief.refused[0].nodes.empty());
}

TEST(Plan, RefusalsBeyondTheLimitTellTheirReasonOnlyUnlessOneIsToBeExplained) {
  const model::Manifest manifest{an_item("a").asking_cpu(2000), a_run("a", {.instances = 4}),
                                 a_node("n1"), a_node("n2")};
  const Plan plan = plan_of(manifest, {.explain = key("a", 3), .verdicts_max = 5});
  ASSERT_EQ(plan.refused.size(), 4U);
  EXPECT_EQ(plan.refused[1].nodes.size(), 2U);
  EXPECT_EQ(plan.refused[2].reason, Reason::InsufficientCpu);
  EXPECT_TRUE(plan.refused[2].nodes.empty());
  EXPECT_EQ(plan.refused[3].nodes.size(), 2U);
  EXPECT_EQ(plan.refused[3].hint, plan.refused[0].hint);
}

// However far it has come: it says so, and nothing else.
TEST(Plan, IsGivenUpWhenNobodyWantsItAnyMore) {
  const model::Manifest manifest{
      an_item("a").asking_cpu(600),
      an_item("b").asking_cpu(600),
      an_item("c").asking_cpu(600),
      a_run("a", {.priority = 2}),
      a_run("b", {.priority = 1, .instances = 2}),
      a_run("c"),
      a_node("n1").running("c", 0),
      a_node("n2").running("b", 0),
  };
  const Snapshot snapshot = snapshot_of(manifest);
  for (const Mode mode : {Mode::Run, Mode::Replan, Mode::RebalanceMinimal, Mode::RebalanceFull}) {
    const Plan whole = make_plan(snapshot, {.mode = mode});
    int questions = 0;
    for (int patience = 0; patience == 0 || questions > patience; ++patience) {
      questions = 0;
      const Plan plan =
          make_plan(snapshot, {.mode = mode, .is_wanted = [&] { return ++questions <= patience; }});
      const bool given_up = questions > patience;
      EXPECT_EQ(plan, given_up ? Plan{.given_up = true} : whole) << patience;
    }
    EXPECT_GT(questions, 4) << "it is asked while there is something to do";
  }
}

TEST(Plan, OnlyWhatIsDoneChangesAnything) {
  const model::Manifest kept{an_item("a"), a_run("a"), a_node("n1").running("a", 0)};
  EXPECT_FALSE(changes_anything(plan_of(kept)));
  const model::Manifest refused{an_item("a").asking_cpu(2000), a_run("a"), a_node("n1")};
  EXPECT_FALSE(changes_anything(plan_of(refused)));
  const model::Manifest started{an_item("a"), a_run("a"), a_node("n1")};
  EXPECT_TRUE(changes_anything(plan_of(started)));
  const model::Manifest stopped{a_node("n1").running("a", 0)};
  EXPECT_TRUE(changes_anything(plan_of(stopped)));
}

TEST(Plan, TheLoadBeforeIsWhatRunsAsksFor) {
  const model::Manifest manifest{an_item("a").asking_cpu(300), a_run("a"),
                                 an_item("b").asking_cpu(70), a_node("n1").running("b", 0)};
  const Plan plan = plan_of(manifest);
  ASSERT_EQ(plan.nodes.size(), 1U);
  EXPECT_EQ(plan.nodes[0].before.cpu, Dmips{70});
  EXPECT_EQ(plan.nodes[0].reserved.cpu, Dmips{300});
  EXPECT_EQ(plan.nodes[0].available.cpu, Dmips{700});
}

TEST(Plan, HostileAmountsAreRefusedNotWrapped) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const model::Manifest manifest{an_item("a").asking_cpu(kMost), a_run("a", {.instances = 3}),
                                 a_node("n1").with_cpu(kMost)};
  const Plan plan = plan_of(manifest);
  EXPECT_EQ(plan.placements.size(), 1U);
  EXPECT_EQ(plan.refused.size(), 2U);
}

}  // namespace
}  // namespace berth::placement
