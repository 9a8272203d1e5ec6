#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

using model::InstanceState;

// "a" (at the label "left") and "b" (at the label "right") fill a node each.
class Gate : public testing::Test {
 protected:
  Gate() {
    driver.join("n1");
    driver.join("n2");
    driver.apply({labels_of("n1", {"left"}), labels_of("n2", {"right"})});
    driver.apply({a_service("a").cpu(800), a_service("b").cpu(800),
                  a_deployment("d", {a_run("a").label("left"), a_run("b").label("right")})});
  }

  void swap() { driver.apply({labels_of("n1", {"right"}), labels_of("n2", {"left"})}); }

  Driver driver;
};

TEST_F(Gate, AStartWaitsForTheRoomThatAnotherIsLeaving) {
  driver.agent("n1").stops_slowly = true;
  driver.apply({a_service("c").cpu(800),
                a_deployment("d", {a_run("b").label("right"), a_run("c").label("left")})});
  EXPECT_EQ(driver.place_of(key_of("c")), "n1/crun");
  EXPECT_FALSE(driver.runs("n1", key_of("c")));
  EXPECT_EQ(driver.status_of(key_of("c")), "activating(WaitingForRoom)");

  driver.agent("n1").drop(kA);
  driver.report_changes("n1");
  EXPECT_EQ(driver.first().commands.size(), 1u);
  EXPECT_EQ(driver.status_of(key_of("c")), "active");
}

TEST_F(Gate, APinnedOneThatOnlyWaitsForRoomIsNotStartedPastTheRules) {
  driver.agent("n1").stops_slowly = true;
  driver.apply({a_service("c").cpu(800).pinned(),
                a_deployment("d", {a_run("b").label("right"), a_run("c").label("left")})});
  ASSERT_EQ(driver.status_of(key_of("c")), "activating(WaitingForRoom)");

  driver.apply({labels_of("n1", {"middle"})});
  driver.agent("n1").drop(kA);
  driver.report_changes("n1");
  EXPECT_FALSE(driver.runs("n1", key_of("c")));
  EXPECT_EQ(driver.status_of(key_of("c")), "failed(NoMatchingLabels)");
}

TEST_F(Gate, AStartWaitsForOneThatWasToldToStopBeforeItsAgentHasSaidAWord) {
  driver.agent("n1").answers = false;
  driver.apply({a_service("c").cpu(200), a_deployment("e", {a_run("c").label("left")})});
  driver.apply({a_service("x").cpu(200), a_deployment("e", {a_run("x").label("left")})});
  EXPECT_EQ(driver.place_of(key_of("x")), "n1/crun");
  for (const model::Command& command : driver.commands_to("n1")) EXPECT_TRUE(command.run.empty());
  driver.agent("n1").answers = true;
  driver.advance(6s);
  EXPECT_EQ(driver.status_of(key_of("x")), "active");
}

// What a node was told and has never heard is not there to be kept: it waits as any other, and the
// room is for who comes first.
TEST_F(Gate, WhatWasToldInVainAndHasToWaitIsNotKept) {
  FakeAgent& n1 = driver.agent("n1");
  const model::Report before = n1.full();
  n1.answers = false;
  driver.apply({a_service("c").cpu(200), a_deployment("e", {a_run("c").label("left")})});
  ASSERT_EQ(driver.commands_to("n1").at(0).run.at(0).key, key_of("c"));
  driver.apply({a_deployment("d", {a_run("b").label("right")})});  // "a" shall leave n1
  driver.apply(
      {a_service("x").cpu(200), a_deployment("f", {a_run("x").label("left").priority(9)})});
  ASSERT_EQ(driver.status_of(key_of("x")), "activating(WaitingForRoom)");
  driver.connect_silently("n1");
  driver.report("n1", before);
  const model::Command command = driver.commands_to("n1").at(0);
  ASSERT_FALSE(command.base);
  ASSERT_EQ(command.run.size(), 1U);
  EXPECT_EQ(command.run[0].key, key_of("x"));
  EXPECT_TRUE(command.keep.empty());
  n1.answers = true;
  driver.advance(6s);
  EXPECT_EQ(driver.status_of(key_of("c")), "active");
}

TEST_F(Gate, WhatFitsBesideTheLeavingOneStartsAtOnce) {
  driver.agent("n1").stops_slowly = true;
  driver.apply({a_service("c").cpu(200),
                a_deployment("d", {a_run("b").label("right"), a_run("c").label("left")})});
  EXPECT_EQ(driver.status_of(key_of("c")), "active");
}

TEST_F(Gate, AnUpdateThatNeedsMoreRoomWaitsAndTheOldVersionRunsOn) {
  driver.apply({a_service("a").cpu(400), a_service("c").cpu(600),
                a_deployment("d", {a_run("a").label("left"), a_run("c").label("left")})});
  driver.agent("n1").stops_slowly = true;
  driver.apply({a_service("c").version("2").cpu(900),
                a_deployment("d", {a_run("c").version("2").label("left")})});
  EXPECT_EQ(driver.agent("n1").statuses.at(key_of("c")).version, "1");
  const CallId call = driver.erase("Item", "c@1");
  EXPECT_TRUE(driver.reply_to<Error>(call)) << "it is still running";

  driver.agent("n1").drop(kA);
  driver.report_changes("n1");
  EXPECT_EQ(driver.agent("n1").statuses.at(key_of("c")).version, "2");
}

TEST_F(Gate, AnUpdateThatNeedsMoreRoomWaitsAlsoAfterARestartOfTheController) {
  driver.apply({a_service("a").cpu(400), a_service("c").cpu(600),
                a_deployment("d", {a_run("a").label("left"), a_run("c").label("left")})});
  driver.agent("n1").stops_slowly = true;
  driver.apply({a_service("c").version("2").cpu(900),
                a_deployment("d", {a_run("c").version("2").label("left")})});
  driver.restart();
  driver.connect("n1");
  driver.connect("n2");
  EXPECT_EQ(driver.agent("n1").statuses.at(key_of("c")).version, "1");

  driver.agent("n1").drop(kA);
  driver.report_changes("n1");
  EXPECT_EQ(driver.agent("n1").statuses.at(key_of("c")).version, "2");
}

TEST_F(Gate, ASwapOfTwoMovesDoesNotDeadlock) {
  swap();
  driver.advance(2s);
  EXPECT_EQ(driver.place_of(kA), "n2/crun");
  EXPECT_EQ(driver.place_of(kB), "n1/crun");
  EXPECT_EQ(driver.status_of(kA), "active");
  EXPECT_EQ(driver.status_of(kB), "active");
  EXPECT_FALSE(driver.runs("n1", kA) || driver.runs("n2", kB));
}

TEST_F(Gate, InASwapTheLaterScheduledStopsFirstAndTheEarlierMovesWithoutAGap) {
  driver.agent("n2").stops_slowly = true;
  swap();
  EXPECT_TRUE(driver.record(kB).leaving->stop_first);
  EXPECT_FALSE(driver.record(kA).leaving->stop_first);
  EXPECT_TRUE(driver.runs("n1", kA));
  EXPECT_FALSE(driver.runs("n2", kA));
  driver.agent("n2").drop(kB);
  driver.report_changes("n2");
  driver.advance(2s);
  EXPECT_EQ(driver.status_of(kA), "active");
  EXPECT_EQ(driver.status_of(kB), "active");
}

TEST_F(Gate, InASwapPriorityDecidesWhoStopsFirst) {
  driver.apply(
      {a_deployment("d", {a_run("a").label("left"), a_run("b").label("right").priority(5)})});
  driver.agent("n1").stops_slowly = true;
  swap();
  EXPECT_TRUE(driver.record(kA).leaving->stop_first);
  EXPECT_FALSE(driver.record(kB).leaving->stop_first);
}

TEST_F(Gate, ARingOfThreeDoesNotDeadlock) {
  driver.join("n3");
  driver.apply({labels_of("n3", {"third"})});
  driver.apply({a_service("c").cpu(800), a_deployment("e", {a_run("c").label("third")})});
  driver.apply({labels_of("n1", {"third"}), labels_of("n2", {"left"}), labels_of("n3", {"right"})});
  driver.advance(6s);
  EXPECT_EQ(driver.status_of(kA), "active");
  EXPECT_EQ(driver.status_of(kB), "active");
  EXPECT_EQ(driver.status_of(key_of("c")), "active");
  for (const auto& [key, record] : driver.durable().instances) EXPECT_FALSE(record.leaving);
}

TEST_F(Gate, WhatWasMeasuredBeforeARebootDoesNotCountAfterIt) {
  driver.agent("n1").usage = model::Usage{Dmips{900}, Bytes{}};
  driver.heartbeat("n1");
  driver.apply({a_service("c").cpu(150), a_deployment("e", {a_run("c").label("left")})});
  EXPECT_EQ(driver.status_of(key_of("c")), "failed(InsufficientCpu)");

  driver.disconnect("n1");
  driver.agent("n1").usage.reset();
  driver.connect("n1");
  EXPECT_EQ(driver.status_of(key_of("c")), "active");
}

TEST_F(Gate, RoomThatTheSystemGivesBackIsUsedAtOnce) {
  driver.apply({a_service("a").cpu(200)});
  driver.agent("n1").usage = model::Usage{Dmips{300}, Bytes{}};
  driver.agent("n1").stops_slowly = true;
  driver.heartbeat("n1");
  driver.apply({a_service("c").cpu(600),
                a_deployment("d", {a_run("a").label("right"), a_run("b").label("right"),
                                   a_run("c").label("left")})});
  EXPECT_EQ(driver.status_of(kA), "active");
  EXPECT_FALSE(driver.runs("n1", key_of("c")));

  driver.agent("n1").usage = model::Usage{};
  driver.heartbeat("n1");
  EXPECT_EQ(driver.status_of(key_of("c")), "active");
}

}  // namespace
}  // namespace berth::control
