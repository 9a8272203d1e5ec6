#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

using model::Readiness;

// --- Requests become instances -----------------------------------------------------------------

TEST(Requests, EachReplicaIsAnInstanceAndThoseTooManyAreCached) {
  Driver driver;
  driver.join("n1");
  driver.apply({a_service("web"), a_deployment("d", {a_run("web").times(3)})});
  EXPECT_EQ(driver.durable().instances.size(), 3u);
  driver.apply({a_deployment("d", {a_run("web").times(1)})});
  EXPECT_EQ(driver.status_of(key_of("web", 0)), "active");
  EXPECT_EQ(driver.status_of(key_of("web", 2)), "");
  EXPECT_EQ(driver.record(key_of("web", 2)).phase, model::Phase::Cached);
  EXPECT_FALSE(driver.runs("n1", key_of("web", 2)));
}

TEST(Requests, AComponentOnAllRuntimesIsOnEachAndOnThoseThatComeLater) {
  Driver driver;
  driver.join("n2", a_node().with_firmware());
  driver.apply({a_component("fw"), a_deployment("d", {a_run("fw").on_all_runtimes()})});
  EXPECT_EQ(driver.place_of(key_of("fw", 0)), "n2/mcu");
  driver.join("n1", a_node().with_firmware());
  EXPECT_EQ(driver.place_of(key_of("fw", 0)), "n2/mcu") << "an index stays with its runtime";
  EXPECT_EQ(driver.place_of(key_of("fw", 1)), "n1/mcu");
  EXPECT_EQ(driver.status_of(key_of("fw", 1)), "active");
}

TEST(Requests, AComponentOfAVanishedRuntimeIsCachedAndComesBackWithItsIndex) {
  Driver driver;
  driver.join("n1", a_node().with_firmware());
  driver.join("n2", a_node().with_firmware());
  driver.apply({a_component("fw"), a_deployment("d", {a_run("fw").on_all_runtimes()})});
  const std::uint32_t uid = driver.record(key_of("fw", 0)).uid;
  driver.become("n1", a_node());
  EXPECT_EQ(driver.record(key_of("fw", 0)).phase, model::Phase::Cached);
  EXPECT_EQ(driver.place_of(key_of("fw", 1)), "n2/mcu");
  driver.become("n1", a_node().with_firmware());
  EXPECT_EQ(driver.place_of(key_of("fw", 0)), "n1/mcu");
  EXPECT_EQ(driver.record(key_of("fw", 0)).uid, uid);
}

TEST(Requests, ANewVersionReplacesTheOldOneInPlace) {
  Driver driver;
  driver.join("n1");
  driver.join("n2");
  driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  driver.apply({a_service("web").version("2"), a_deployment("d", {a_run("web").version("2")})});
  EXPECT_TRUE(driver.noted(NoteKind::Updated));
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
  EXPECT_EQ(driver.agent("n1").statuses.at(kWeb).version, "2");
  EXPECT_EQ(driver.status_of(kWeb), "active");
}

TEST(Requests, AHigherPriorityDisplacesALowerOne) {
  Driver driver;
  driver.join("n1");
  driver.apply(
      {a_service("low").cpu(800), a_service("high").cpu(800), a_deployment("d", {a_run("low")})});
  driver.apply({a_deployment("e", {a_run("high").priority(1)})});
  EXPECT_EQ(driver.status_of(key_of("high")), "active");
  EXPECT_EQ(driver.status_of(key_of("low")), "failed(InsufficientCpu)");
  EXPECT_FALSE(driver.runs("n1", key_of("low")));
}

// --- Whatever waits is placed in the step that learns of what it waited for --------------------

class Waiting : public testing::Test {
 protected:
  void want_web() {
    driver.apply({a_service("web").cpu(800), a_deployment("d", {a_run("web")})});
    ASSERT_NE(driver.status_of(kWeb), "active");
    ASSERT_EQ(driver.record(kWeb).phase, model::Phase::Waiting);
  }
  bool was_placed_in_the_first_step() const {
    return !driver.first().commands.empty() && driver.record(kWeb).phase == model::Phase::Placed;
  }

  Driver driver;
};

TEST_F(Waiting, ForANode) {
  want_web();
  EXPECT_EQ(driver.status_of(kWeb), "failed(NoConnectedNodes)");
  driver.join("n1");
  EXPECT_TRUE(was_placed_in_the_first_step());
  EXPECT_EQ(driver.status_of(kWeb), "active");
}

TEST_F(Waiting, ForRoomThatADeletedDeploymentLeaves) {
  driver.join("n1");
  driver.apply({a_service("big").cpu(900), a_deployment("b", {a_run("big")})});
  want_web();
  EXPECT_EQ(driver.status_of(kWeb), "failed(InsufficientCpu)");
  driver.erase("Deployment", "b");
  EXPECT_TRUE(was_placed_in_the_first_step());
  EXPECT_EQ(driver.status_of(kWeb), "active");
}

TEST_F(Waiting, ForRoomThatTheSystemGivesBack) {
  driver.join("n1");
  driver.agent("n1").usage = model::Usage{Dmips{500}, Bytes{}};
  driver.heartbeat("n1");
  want_web();
  driver.agent("n1").usage = model::Usage{Dmips{100}, Bytes{}};
  driver.heartbeat("n1");
  EXPECT_TRUE(was_placed_in_the_first_step());
}

TEST_F(Waiting, ForRoomOfWhichMoreTurnsOutToBeOurs) {
  driver.join("n1");
  driver.apply({a_service("small").cpu(100), a_deployment("b", {a_run("small")})});
  driver.agent("n1").usage = model::Usage{Dmips{400}, Bytes{}};
  driver.heartbeat("n1");
  want_web();
  driver.agent("n1").statuses.at(key_of("small")).usage.cpu = Dmips{350};
  driver.set("n1", key_of("small"), model::InstanceState::Active);
  EXPECT_TRUE(was_placed_in_the_first_step());
}

TEST_F(Waiting, ForARuntimeToBeReady) {
  driver.join("n1", a_node().ready("crun", Readiness::NotReady));
  want_web();
  driver.become("n1", a_node());
  EXPECT_TRUE(was_placed_in_the_first_step());
}

TEST_F(Waiting, ForANodeToBeUncordoned) {
  driver.join("n1");
  driver.cordon("n1");
  want_web();
  EXPECT_EQ(driver.status_of(kWeb), "failed(NoUsableNodes)");
  driver.cordon("n1", Scheduling::Allowed);
  EXPECT_TRUE(was_placed_in_the_first_step());
}

TEST_F(Waiting, ForANodeThatWasUnreachable) {
  driver.join("n1");
  driver.disconnect("n1");
  driver.advance(2s);
  want_web();
  driver.connect("n1");
  EXPECT_TRUE(was_placed_in_the_first_step());
}

// --- Nothing healthy moves without need --------------------------------------------------------

TEST(Keeping, ACordonedNodeKeepsWhatItRuns) {
  Driver driver;
  driver.join("n1");
  driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  driver.join("n2");
  const CallId call = driver.cordon("n1");
  EXPECT_TRUE(driver.reply_to<Accepted>(call));
  EXPECT_TRUE(driver.durable().nodes.at(node_id("n1")).cordoned);
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
  EXPECT_TRUE(driver.effects().commands.empty());
  driver.apply({a_service("db"), a_deployment("e", {a_run("db")})});
  EXPECT_EQ(driver.place_of(key_of("db")), "n2/crun");
}

TEST(Keeping, ANodeThatCannotWriteKeepsWhatItRunsAndGetsNothingNew) {
  Driver driver;
  driver.join("n1");
  driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  driver.join("n2");
  model::NodeInfo full = a_node();
  full.store_problem = "the disk is full";
  driver.become("n1", full);
  EXPECT_TRUE(driver.noted(NoteKind::NodeReadOnly, "node/n1"));
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
  EXPECT_EQ(driver.status_of(kWeb), "active");
  EXPECT_TRUE(driver.effects().commands.empty());
  EXPECT_TRUE(driver.effects().writes.empty()) << "it is observed, and not written";
  driver.apply({a_service("db"), a_deployment("e", {a_run("db")})});
  EXPECT_EQ(driver.place_of(key_of("db")), "n2/crun");
  driver.disconnect("n2");
  driver.advance(2s);
  driver.apply({a_service("late"), a_deployment("f", {a_run("late")})});
  EXPECT_EQ(driver.place_of(key_of("late")), "");
  driver.become("n1", a_node());
  EXPECT_TRUE(driver.noted(NoteKind::NodeWritable, "node/n1"));
  EXPECT_EQ(driver.place_of(key_of("late")), "n1/crun") << "in the same step";
  EXPECT_EQ(driver.agent("n1").starts[kWeb], 1);
}

TEST(Keeping, ARuntimeThatIsNotReadyKeepsWhatItRuns) {
  Driver driver;
  driver.join("n1");
  driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  driver.join("n2");
  driver.become("n1", a_node().ready("crun", Readiness::NotReady));
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
  EXPECT_EQ(driver.status_of(kWeb), "active");
}

TEST(Keeping, ReadinessIsObservedAndNotWritten) {
  Driver driver;
  driver.join("n1");
  driver.become("n1", a_node().ready("crun", Readiness::NotReady));
  EXPECT_TRUE(driver.effects().writes.empty());
}

// --- An agent that does not start what it was told ---------------------------------------------

class RefusedStart : public testing::Test {
 protected:
  RefusedStart() {
    driver.join("n1", a_node().cpu(2000));
    driver.join("n2");
    driver.agent("n1").starts_slowly = true;
    driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
    EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
  }

  void refuse() {
    driver.agent("n1").become(a_node().cpu(2000).ready("crun", Readiness::NotReady));
    driver.set("n1", kWeb, model::InstanceState::Failed,
               {"RuntimeNotReady", "crun is NotReady", model::Hindrance::RuntimeNotReady});
  }

  Driver driver;
};

TEST_F(RefusedStart, ItIsPlacedElsewhereAtOnce) {
  refuse();
  EXPECT_TRUE(driver.noted(NoteKind::Refused, "instance/web/default/0"));
  EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
  EXPECT_EQ(driver.status_of(kWeb), "active");
  EXPECT_FALSE(driver.runs("n1", kWeb));
}

TEST_F(RefusedStart, WithNowhereElseItWaitsAndIsPlacedWhenTheRuntimeIsReady) {
  driver.cordon("n2");
  refuse();
  EXPECT_EQ(driver.status_of(kWeb), "failed(RuntimeNotReady)");
  EXPECT_FALSE(driver.runs("n1", kWeb));
  driver.agent("n1").starts_slowly = false;
  driver.become("n1", a_node().cpu(2000));
  EXPECT_EQ(driver.status_of(kWeb), "active");
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
}

TEST_F(RefusedStart, WhatHasOnceRunThereIsNotLeftHangingEither) {
  driver.set("n1", kWeb, model::InstanceState::Active);
  refuse();
  EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
  EXPECT_EQ(driver.status_of(kWeb), "active");
}

TEST_F(RefusedStart, NorIsItAfterARestartOfTheControlPlane) {
  driver.restart();
  driver.connect("n1");
  driver.connect("n2");
  refuse();
  EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
}

TEST_F(RefusedStart, WhatIsPinnedStaysWhereItHasRun) {
  driver.apply({a_service("web").pinned()});
  driver.set("n1", kWeb, model::InstanceState::Active);
  refuse();
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
  EXPECT_EQ(driver.status_of(kWeb), "failed(RuntimeNotReady)");
}

TEST_F(RefusedStart, ARuntimeThatIsSaidToBeReadyIsTriedOn) {
  driver.set("n1", kWeb, model::InstanceState::Failed,
             {"RuntimeNotReady", "crun is NotReady", model::Hindrance::RuntimeNotReady});
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
  driver.become("n1", a_node().cpu(2000).ready("crun", Readiness::NotReady));
  EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
}

}  // namespace
}  // namespace berth::control
