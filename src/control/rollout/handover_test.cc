#include <gtest/gtest.h>

#include "control/rollout/testing.h"

namespace berth::control {
namespace {

class Moves : public TravellingWeb {
 protected:
  void SetUp() override {
    TravellingWeb::SetUp();
    driver.agent("n2").starts_slowly = true;
    driver.agent("n3").starts_slowly = true;
  }

  // And it stays so for long enough.
  void activate(const std::string& node) {
    driver.set(node, kWeb, InstanceState::Active);
    driver.advance(2s);
  }
  std::string leaving() const {
    const auto& leaving = driver.record(kWeb).leaving;
    return leaving ? leaving->place.node.value() : "";
  }
};

TEST_F(Moves, TheSourceRunsOnUntilTheTargetIsActive) {
  label("n2");
  EXPECT_TRUE(driver.noted(NoteKind::Moved));
  EXPECT_TRUE(driver.runs("n1", kWeb) && driver.runs("n2", kWeb));
  EXPECT_EQ(leaving(), "n1");
  EXPECT_TRUE(driver.commands_to("n1").empty());
}

TEST_F(Moves, WhatIsEditedMeanwhileRestartsTheTargetOnly) {
  label("n2");
  model::Item edited = a_service("web").env("COLOUR", "blue");
  driver.apply({edited});
  EXPECT_EQ(driver.agent("n1").starts[kWeb], 1);
  EXPECT_EQ(driver.agent("n2").wanted().at(kWeb).item.env.at("COLOUR"), "blue");
  EXPECT_FALSE(driver.agent("n1").wanted().at(kWeb).item.env.contains("COLOUR"));
}

TEST_F(Moves, TheSourceIsToldToStopWhenTheTargetHasBeenActiveForAWhile) {
  label("n2");
  driver.agent("n1").stops_slowly = true;
  driver.set("n2", kWeb, InstanceState::Active);
  driver.advance(2s - 1us);
  EXPECT_TRUE(driver.commands_to("n1").empty());
  driver.advance(1us);
  ASSERT_EQ(driver.first().commands.size(), 1u);
  EXPECT_EQ(driver.first().commands[0].command.stop, std::vector{kWeb});
  EXPECT_EQ(leaving(), "n1");
}

TEST_F(Moves, OneThatHasDoneItsWorkOnBothNodesHasArrived) {
  label("n2");
  for (const char* node : {"n1", "n2"}) {
    driver.agent(node).finish(kWeb);
    driver.report_changes(node);
  }
  EXPECT_FALSE(driver.runs("n1", kWeb));
  EXPECT_EQ(leaving(), "");
}

TEST_F(Moves, ASourceThatFailsTooIsLetGoWhenTheTargetHasHadItsTime) {
  label("n2");
  driver.set("n1", kWeb, InstanceState::Failed, {"Exited", "it ended with code 1"});
  driver.set("n2", kWeb, InstanceState::Failed, {"StartFailed", "no such file"});
  driver.advance(299s);
  EXPECT_EQ(leaving(), "n1") << "it may come up again";
  driver.advance(2s);
  EXPECT_FALSE(driver.runs("n1", kWeb));
  EXPECT_EQ(leaving(), "");
}

TEST_F(Moves, ItIsOverWhenTheSourceSaysThatItHasGone) {
  label("n2");
  driver.agent("n1").stops_slowly = true;
  activate("n2");
  driver.agent("n1").drop(kWeb);
  driver.report_changes("n1");
  EXPECT_EQ(leaving(), "");
  EXPECT_TRUE(driver.effects().commands.empty());
}

TEST_F(Moves, ASourceThatWasToldToStopIsNotCalledBack) {
  label("n2");
  driver.agent("n1").stops_slowly = true;
  activate("n2");
  driver.set("n2", kWeb, InstanceState::Failed, {"Crashed", ""});
  EXPECT_TRUE(driver.effects().commands.empty());
  EXPECT_EQ(driver.status_of(kWeb), "failed(Crashed)");
}

TEST_F(Moves, ATargetThatFailsLeavesTheSourceAlone) {
  label("n2");
  driver.set("n2", kWeb, InstanceState::Failed, {"Crashed", ""});
  EXPECT_TRUE(driver.runs("n1", kWeb));
  EXPECT_TRUE(driver.effects().commands.empty());
}

TEST_F(Moves, ATargetThatEndsRightAfterItsStartLeavesTheSourceAlone) {
  label("n2");
  driver.set("n2", kWeb, InstanceState::Active);
  driver.advance(1s);
  driver.set("n2", kWeb, InstanceState::Failed, {"Crashed", ""});
  driver.advance(10s);
  EXPECT_TRUE(driver.runs("n1", kWeb));
}

TEST_F(Moves, ItsStatusIsThatOfTheCopyThatServes) {
  label("n2");
  driver.set("n2", kWeb, InstanceState::Failed, {"Crashed", ""});
  const model::InstanceStatus status = driver.controller().statuses().at(kWeb);
  EXPECT_EQ(status.state, InstanceState::Active);
  EXPECT_EQ(status.place->node, node_id("n1"));
  EXPECT_EQ(status.moving_to->node, node_id("n2"));
}

TEST_F(Moves, ATargetThatFailsIsReplacedByAnotherNodeThatFits) {
  driver.apply({labels_of("n1", {}), labels_of("n2", {"here"}), labels_of("n3", {"here"})});
  const std::string first = driver.record(kWeb).place->node.value();
  const std::string second = first == "n2" ? "n3" : "n2";
  driver.set(first, kWeb, InstanceState::Failed, {"Crashed", ""});
  EXPECT_TRUE(driver.noted(NoteKind::MoveFailed));
  EXPECT_EQ(driver.place_of(kWeb), second + "/crun");
  EXPECT_EQ(leaving(), "n1");
  EXPECT_FALSE(driver.runs(first, kWeb));
  activate(second);
  EXPECT_FALSE(driver.runs("n1", kWeb));
}

TEST_F(Moves, ATargetThatIsNotActiveInTimeIsReplacedToo) {
  driver.apply({labels_of("n1", {}), labels_of("n2", {"here"}), labels_of("n3", {"here"})});
  const std::string first = driver.record(kWeb).place->node.value();
  driver.advance(300s - 1us);
  EXPECT_EQ(driver.place_of(kWeb), first + "/crun");
  driver.advance(1us);
  EXPECT_EQ(driver.place_of(kWeb), first == "n2" ? "n3/crun" : "n2/crun");
}

TEST_F(Moves, ASecondMoveBeforeTheTargetIsUpKeepsTheSourceAndDropsTheTarget) {
  label("n2");
  label("n3");
  EXPECT_EQ(leaving(), "n1");
  EXPECT_TRUE(driver.runs("n1", kWeb));
  EXPECT_FALSE(driver.runs("n2", kWeb));
  EXPECT_TRUE(driver.runs("n3", kWeb));
  activate("n3");
  EXPECT_FALSE(driver.runs("n1", kWeb));
  EXPECT_EQ(leaving(), "");
}

TEST_F(Moves, ASecondMoveAfterTheTargetIsActiveLeavesTheTarget) {
  driver.agent("n1").stops_slowly = true;
  label("n2");
  activate("n2");
  label("n3");
  EXPECT_EQ(leaving(), "n2");
  EXPECT_TRUE(driver.runs("n2", kWeb));
  activate("n3");
  EXPECT_FALSE(driver.runs("n2", kWeb));
}

TEST_F(Moves, AMoveBackRestartsNothing) {
  label("n2");
  label("n1");
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
  EXPECT_EQ(driver.status_of(kWeb), "active");
  EXPECT_FALSE(driver.runs("n2", kWeb));
  EXPECT_EQ(leaving(), "");
  EXPECT_EQ(driver.agent("n1").starts.at(kWeb), 1);
}

TEST_F(Moves, ASourceThatIsLostIsNotWaitedFor) {
  label("n2");
  driver.disconnect("n1");
  driver.advance(61s);
  EXPECT_EQ(leaving(), "");
  EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
}

TEST_F(Moves, ATargetThatIsLostIsReplacedAndTheSourceStays) {
  driver.apply({labels_of("n1", {}), labels_of("n2", {"here"}), labels_of("n3", {"here"})});
  const std::string target = driver.record(kWeb).place->node.value();
  driver.disconnect(target);
  driver.advance(61s);
  EXPECT_EQ(driver.place_of(kWeb), target == "n2" ? "n3/crun" : "n2/crun");
  EXPECT_EQ(leaving(), "n1");
  EXPECT_EQ(driver.agent("n1").starts.at(kWeb), 1);
}

TEST_F(Moves, AMoveGoesOnAfterARestartOfTheController) {
  label("n2");
  driver.restart();
  for (const char* node : {"n1", "n2", "n3"}) driver.connect(node);
  EXPECT_TRUE(driver.runs("n1", kWeb) && driver.runs("n2", kWeb));
  EXPECT_EQ(driver.agent("n1").starts.at(kWeb), 1);
  activate("n2");
  EXPECT_FALSE(driver.runs("n1", kWeb));
  EXPECT_EQ(leaving(), "");
}

TEST_F(Moves, AMoveThatEndedWhileTheControllerWasAwayIsOver) {
  label("n2");
  driver.agent("n1").drop(kWeb);
  driver.restart();
  for (const char* node : {"n1", "n2", "n3"}) driver.connect(node);
  EXPECT_EQ(leaving(), "");
}

TEST_F(Moves, ASourceThatWasNeverToldToStopHasGoneIfItsNewStreamSaysSo) {
  label("n2");
  driver.agent("n1").answers = false;
  activate("n2");  // the command to stop does not arrive
  driver.agent("n1").lose_everything();
  driver.agent("n1").answers = true;
  driver.connect("n1");
  EXPECT_EQ(leaving(), "");
}

TEST_F(Moves, AnUpdateThatDoesNotFitWhereItIsMovesWithTheOldVersionAtTheSource) {
  driver.apply({labels_of("n2", {"here"})});
  driver.apply({a_service("db").cpu(900), a_deployment("e", {a_run("db").on("n1")})});
  driver.apply({a_service("web").version("2").cpu(300),
                a_deployment("d", {a_run("web").version("2").label("here")})});
  EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
  EXPECT_EQ(driver.agent("n1").statuses.at(kWeb).version, "1");
  EXPECT_EQ(driver.agent("n2").statuses.at(kWeb).version, "2");
  EXPECT_EQ(driver.agent("n1").starts.at(kWeb), 1);
}

TEST_F(Moves, ATargetWhoseNodeSaysNothingMoreHasProvenNothing) {
  label("n2");
  driver.set("n2", kWeb, InstanceState::Active);
  driver.agent("n2").answers = false;
  driver.advance(3s);
  EXPECT_TRUE(driver.commands_to("n1").empty());
  driver.apply({labels_of("n3", {"here"})});
  driver.advance(70s);
  EXPECT_EQ(driver.place_of(kWeb), "n3/crun");
  EXPECT_TRUE(driver.runs("n1", kWeb)) << "what serves is not stopped for a node that died";
  EXPECT_EQ(driver.agent("n1").starts.at(kWeb), 1);
}

TEST_F(Moves, ATargetThatWasStartedAgainWhileTheControllerWasAwayHasNotFailed) {
  driver.apply({labels_of("n2", {"here"})});
  driver.apply({a_service("db").cpu(900), a_deployment("e", {a_run("db").on("n1")})});
  driver.apply({a_service("web").version("2").cpu(300),
                a_deployment("d", {a_run("web").version("2").label("here")})});
  ASSERT_EQ(driver.place_of(kWeb), "n2/crun");
  driver.restart();
  driver.connect("n1");  // its copy serves, and the other one is waited for
  driver.agent("n2").statuses.at(kWeb).state = InstanceState::Active;
  driver.agent("n2").statuses.at(kWeb).restarts = 1;
  for (const char* node : {"n2", "n3"}) driver.connect(node);
  driver.advance(5s);
  EXPECT_EQ(leaving(), "");
  EXPECT_FALSE(driver.runs("n1", kWeb));
}

TEST_F(Moves, AnUpdateThatFailsElsewhereGoesOnWhereTheOldVersionServes) {
  driver.apply({labels_of("n2", {"here"})});
  driver.apply({a_service("db").cpu(900), a_deployment("e", {a_run("db").on("n1")})});
  driver.apply({a_service("web").version("2").cpu(300),
                a_deployment("d", {a_run("web").version("2").label("here")})});
  ASSERT_EQ(driver.place_of(kWeb), "n2/crun");
  driver.set("n2", kWeb, InstanceState::Failed, {"Crashed", ""});
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
  EXPECT_EQ(driver.status_of(kWeb), "active(RolledBack)");
  EXPECT_EQ(driver.agent("n1").starts.at(kWeb), 1);
  EXPECT_FALSE(driver.runs("n2", kWeb));
  EXPECT_EQ(driver.agent("n2").starts.at(kWeb), 1) << "the old version is not even tried there";
}

// --- Stop first --------------------------------------------------------------------------------

class StopFirst : public Moves {
 protected:
  model::Item item() override { return a_service("web").stop_first(); }
};

TEST_F(StopFirst, TheTargetStartsWhenTheSourceHasGone) {
  driver.agent("n1").stops_slowly = true;
  label("n2");
  EXPECT_EQ(driver.commands_to("n1").at(0).stop, std::vector{kWeb});
  EXPECT_TRUE(driver.commands_to("n2").empty());
  driver.agent("n1").drop(kWeb);
  driver.report_changes("n1");
  EXPECT_EQ(driver.first().commands.at(0).node, node_id("n2"));
  EXPECT_TRUE(driver.runs("n2", kWeb));
  EXPECT_EQ(leaving(), "");
}

TEST_F(StopFirst, AnOldCopyThatIsStillStoppingAtTheTargetIsNoHeadStart) {
  driver.agent("n1").stops_slowly = true;
  driver.agent("n2").stops_slowly = true;
  label("n2");
  driver.agent("n1").drop(kWeb);
  driver.report_changes("n1");
  activate("n2");
  label("n1");  // n2 is stopping now
  driver.agent("n2").answers = false;
  label("n2");  // and is wanted there again while n1 has not started
  EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
  EXPECT_FALSE(driver.runs("n1", kWeb));
}

// --- Nodes that have failed --------------------------------------------------------------------

// What leaves because its node says that it can run nothing, or not as it should.
class FailedNodes : public Moves {
 protected:
  void SetUp() override {
    Moves::SetUp();
    driver.apply({labels_of("n2", {"here"})});
    driver.agent("n1").stops_slowly = true;
    driver.agent("n2").starts_slowly = false;
  }
  void expect_that_the_stop_is_awaited() {
    EXPECT_EQ(driver.commands_to("n1").at(0).stop, std::vector{kWeb});
    EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
    EXPECT_FALSE(driver.runs("n2", kWeb));
    driver.agent("n1").drop(kWeb);
    driver.report_changes("n1");
    EXPECT_TRUE(driver.runs("n2", kWeb));
    EXPECT_EQ(driver.status_of(kWeb), "active");
  }
};

TEST_F(FailedNodes, ANodeInErrorHasStoppedItsCopyBeforeAnotherStarts) {
  driver.become("n1", a_node().state(model::NodeState::Error));
  EXPECT_EQ(driver.status_of(kWeb), "failed(NodeError)");
  expect_that_the_stop_is_awaited();
}

TEST_F(FailedNodes, SoHasANodeThatIsPaused) {
  driver.become("n1", a_node().state(model::NodeState::Paused));
  expect_that_the_stop_is_awaited();
}

TEST_F(FailedNodes, SoHasANodeWhoseRuntimeHasGone) {
  driver.become("n1", a_node().no_runtimes());
  expect_that_the_stop_is_awaited();
}

TEST_F(FailedNodes, ANodeInErrorThatIsLostIsNotWaitedFor) {
  driver.become("n1", a_node().state(model::NodeState::Error));
  driver.disconnect("n1");
  driver.advance(59s);
  EXPECT_FALSE(driver.runs("n2", kWeb));
  driver.advance(2s);
  EXPECT_TRUE(driver.runs("n2", kWeb));
}

TEST_F(FailedNodes, WhatFindsItsNextPlaceOnlyLaterWaitsForTheStopToo) {
  driver.apply({labels_of("n2", {})});
  driver.become("n1", a_node().state(model::NodeState::Error));
  ASSERT_EQ(driver.place_of(kWeb), "");
  driver.apply({labels_of("n2", {"here"})});
  EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
  EXPECT_FALSE(driver.runs("n2", kWeb));
  driver.agent("n1").drop(kWeb);
  driver.report_changes("n1");
  EXPECT_TRUE(driver.runs("n2", kWeb));
}

TEST_F(FailedNodes, AMoveFromANodeThatFailsInTheMiddleStopsItsCopyAtOnce) {
  driver.agent("n2").starts_slowly = true;
  label("n2");
  ASSERT_TRUE(driver.runs("n1", kWeb) && driver.runs("n2", kWeb));
  driver.become("n1", a_node().state(model::NodeState::Error));
  EXPECT_EQ(driver.commands_to("n1").at(0).stop, std::vector{kWeb});
}

class Exclusive : public Moves {
 protected:
  model::Item item() override { return a_service("web").shared("camera"); }
  model::NodeInfo node_info() override { return a_node().shared("camera", 1); }
};

TEST_F(Exclusive, TheHolderOfAnExclusiveResourceStopsFirstByItself) {
  driver.agent("n1").stops_slowly = true;
  label("n2");
  EXPECT_TRUE(driver.record(kWeb).leaving->stop_first);
  EXPECT_FALSE(driver.runs("n2", kWeb));
}

class SharedByMany : public Exclusive {
 protected:
  model::NodeInfo node_info() override { return a_node().shared("camera", 2); }
};

TEST_F(SharedByMany, AResourceWithRoomForSeveralIsNotExclusive) {
  label("n2");
  EXPECT_FALSE(driver.record(kWeb).leaving->stop_first);
  EXPECT_TRUE(driver.runs("n1", kWeb) && driver.runs("n2", kWeb));
}

class UnitWide : public Moves {
 protected:
  model::Item item() override { return a_service("web").state(100); }
  model::NodeInfo node_info() override { return a_node().unit_wide_state(1000); }
};

TEST_F(UnitWide, TheKeeperOfUnitWideStateStopsFirst) {
  driver.agent("n1").stops_slowly = true;
  label("n2");
  EXPECT_FALSE(driver.runs("n2", kWeb));
}

}  // namespace
}  // namespace berth::control
