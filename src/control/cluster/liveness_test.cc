#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

// "web" on n1, which is alone in the beginning; n1 falls silent as the test says.
class Clocks : public testing::Test {
 protected:
  Clocks() {
    driver.join("n1");
    driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  }

  void silence() { driver.agent("n1").answers = false; }

  Driver driver;
};

TEST_F(Clocks, ABrokenStreamThatIsNotBackIsUnreachableExactlyAfterOnePeriod) {
  driver.disconnect("n1");
  driver.advance(2s - 1us);
  EXPECT_EQ(driver.liveness("n1"), Liveness::Reachable);
  driver.advance(1us);
  EXPECT_EQ(driver.liveness("n1"), Liveness::Unreachable);
  EXPECT_TRUE(driver.noted(NoteKind::NodeUnreachable, "node/n1"));
  EXPECT_EQ(driver.status_of(kWeb), "active, unverified");
}

TEST_F(Clocks, AStreamThatIsBackInTimeIsNoEvent) {
  driver.advance(2s);  // until what runs is proven to be well
  driver.disconnect("n1");
  driver.advance(1999ms);
  driver.connect("n1");
  EXPECT_TRUE(driver.is_idle());
  driver.advance(10s);
  EXPECT_TRUE(driver.is_idle());
}

TEST_F(Clocks, ASilentNodeIsUnreachableExactlyAfterTwoPeriods) {
  silence();
  driver.heartbeat("n1");
  driver.advance(4s - 1us);
  EXPECT_EQ(driver.liveness("n1"), Liveness::Reachable);
  driver.advance(1us);
  EXPECT_EQ(driver.liveness("n1"), Liveness::Unreachable);
}

TEST_F(Clocks, AnyWordOfASilentNodeMakesItReachable) {
  silence();
  driver.advance(5s);
  driver.heartbeat("n1");
  EXPECT_EQ(driver.liveness("n1"), Liveness::Reachable);
  EXPECT_TRUE(driver.noted(NoteKind::NodeBack, "node/n1"));
  EXPECT_EQ(driver.status_of(kWeb), "active");
  EXPECT_TRUE(driver.effects().commands.empty());
}

TEST_F(Clocks, ANodeIsLostExactlyAtTheGraceAndWhatMayMoveMovesInThatStep) {
  driver.join("n2");
  silence();
  driver.heartbeat("n1");
  driver.advance(60s - 1us);
  EXPECT_EQ(driver.liveness("n1"), Liveness::Unreachable);
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
  driver.advance(1us);
  EXPECT_EQ(driver.liveness("n1"), Liveness::Lost);
  EXPECT_TRUE(driver.noted(NoteKind::NodeLost, "node/n1"));
  EXPECT_TRUE(driver.noted(NoteKind::Moved));
  EXPECT_EQ(driver.status_of(kWeb), "active");
  EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
  EXPECT_FALSE(driver.record(kWeb).leaving);
}

TEST_F(Clocks, TheGraceIsCountedFromTheLastWordAlsoIfTheStreamBreaksLater) {
  silence();
  driver.heartbeat("n1");
  driver.advance(30s);
  driver.disconnect("n1");
  driver.advance(30s);
  EXPECT_EQ(driver.liveness("n1"), Liveness::Lost);
}

TEST_F(Clocks, CopiesOnANodeThatIsBackAreStopped) {
  driver.join("n2");
  driver.disconnect("n1");
  driver.advance(61s);
  EXPECT_TRUE(driver.runs("n1", kWeb));
  driver.connect("n1");
  EXPECT_FALSE(driver.runs("n1", kWeb));
  EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
  EXPECT_EQ(driver.agent("n2").starts.at(kWeb), 1);
}

TEST_F(Clocks, NothingHealthyIsRestartedWhenANodeIsBack) {
  driver.disconnect("n1");
  driver.advance(50s);
  driver.connect("n1");
  EXPECT_TRUE(driver.effects().commands.empty());
  EXPECT_EQ(driver.agent("n1").starts.at(kWeb), 1);
}

TEST_F(Clocks, WhatHasNowhereToGoWaitsAndIsFoundRunningWhenItsNodeIsBack) {
  driver.disconnect("n1");
  driver.advance(61s);
  EXPECT_EQ(driver.status_of(kWeb), "failed(NoConnectedNodes)");
  driver.connect("n1");
  EXPECT_EQ(driver.status_of(kWeb), "active");
  EXPECT_EQ(driver.agent("n1").starts.at(kWeb), 1);
}

TEST_F(Clocks, NothingNewIsPlacedOnAnUnreachableNode) {
  driver.disconnect("n1");
  driver.advance(2s);
  driver.apply({a_service("db"), a_deployment("e", {a_run("db")})});
  EXPECT_EQ(driver.status_of(key_of("db")), "failed(NoConnectedNodes)");
}

TEST_F(Clocks, APinnedInstanceStaysAndIsFailedWhileItsNodeIsLost) {
  driver.apply({a_service("db").pinned(), a_deployment("e", {a_run("db")})});
  driver.join("n2");
  driver.disconnect("n1");
  driver.advance(61s);
  EXPECT_EQ(driver.status_of(key_of("db")), "failed(NodeLost)");
  EXPECT_EQ(driver.place_of(key_of("db")), "n1/crun");
  driver.connect("n1");
  EXPECT_EQ(driver.status_of(key_of("db")), "active");
  EXPECT_EQ(driver.agent("n1").starts.at(key_of("db")), 1);
}

TEST_F(Clocks, ConnectionsOnWhichNothingIsSaidAreNoSignOfLife) {
  silence();
  driver.join("n2");
  driver.disconnect("n1");
  for (int i = 0; i < 60; ++i) {
    driver.connect_silently("n1");
    driver.advance(500ms);
    driver.disconnect("n1");
    driver.advance(500ms);
    EXPECT_EQ(driver.liveness("n1") != Liveness::Reachable, i >= 1);
  }
  driver.advance(1s);
  EXPECT_EQ(driver.liveness("n1"), Liveness::Lost);
  EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
}

// --- A node in error ---------------------------------------------------------------------------

TEST_F(Clocks, InstancesOfANodeInErrorAreFailedAtOnce) {
  driver.become("n1", a_node().state(model::NodeState::Error));
  EXPECT_TRUE(driver.noted(NoteKind::NodeInError, "node/n1"));
  EXPECT_EQ(driver.status_of(kWeb), "failed(NoConnectedNodes)");
}

TEST_F(Clocks, WhatMayMoveIsStoppedOnANodeInErrorInTheSameStepAndThenStartedElsewhere) {
  driver.join("n2");
  driver.become("n1", a_node().state(model::NodeState::Error));
  ASSERT_EQ(driver.first().commands.size(), 1u);
  EXPECT_EQ(driver.first().commands[0].command.stop, std::vector{kWeb});
  EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
  EXPECT_EQ(driver.status_of(kWeb), "active");
  EXPECT_FALSE(driver.runs("n1", kWeb));
}

TEST_F(Clocks, APinnedInstanceOfANodeInErrorIsFailedAndStays) {
  driver.apply({a_service("db").pinned(), a_deployment("e", {a_run("db")})});
  driver.join("n2");
  driver.become("n1", a_node().state(model::NodeState::Error));
  EXPECT_EQ(driver.status_of(key_of("db")), "failed(NodeError)");
  EXPECT_TRUE(driver.runs("n1", key_of("db")));
  driver.become("n1", a_node());
  EXPECT_EQ(driver.status_of(key_of("db")), "active");
}

}  // namespace
}  // namespace berth::control
