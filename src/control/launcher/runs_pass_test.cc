#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

using model::InstanceState;

const model::InstanceKey kWeb = key_of("web");

class Runs : public testing::Test {
 protected:
  Runs() { driver.join("n1"); }

  CallId want_web() { return driver.apply({a_service("web"), a_deployment("d", {a_run("web")})}); }
  std::optional<Finished> finished(CallId call) const { return driver.reply_to<Finished>(call); }
  FakeAgent& agent() { return driver.agent("n1"); }

  Driver driver;
};

TEST_F(Runs, ACallIsAcceptedInItsStepAndFinishedWhenItsInstancesAreUp) {
  agent().starts_slowly = true;
  const CallId call = want_web();
  ASSERT_TRUE(driver.reply_to<Accepted>(call));
  EXPECT_EQ(driver.first().replies.size(), 1u);
  EXPECT_FALSE(finished(call));
  driver.set("n1", kWeb, InstanceState::Active);
  ASSERT_TRUE(finished(call));
  EXPECT_FALSE(finished(call)->timed_out);
  ASSERT_EQ(finished(call)->statuses.size(), 1u);
  EXPECT_EQ(finished(call)->statuses[0].state, InstanceState::Active);
}

TEST_F(Runs, AcceptedTellsTheRevisionThatHoldsTheRequest) {
  const CallId call = want_web();
  EXPECT_EQ(driver.reply_to<Accepted>(call)->revision,
            driver.first().commands.at(0).command.number.number);
}

TEST_F(Runs, FailureIsAnEndToo) {
  agent().starts_slowly = true;
  const CallId call = want_web();
  driver.set("n1", kWeb, InstanceState::Failed, {"Crashed", ""});
  ASSERT_TRUE(finished(call));
  EXPECT_EQ(finished(call)->statuses.at(0).problem.reason, "Crashed");
}

TEST_F(Runs, WhatCannotBePlacedSaysWhyAndIsNoErrorOfTheCall) {
  const CallId call = driver.apply({a_service("web").cpu(5000), a_deployment("d", {a_run("web")})});
  EXPECT_EQ(driver.reply_to<Accepted>(call)->refused.at(kWeb).reason, "InsufficientCpu");
  EXPECT_EQ(finished(call)->statuses.at(0).state, InstanceState::Failed);
}

TEST_F(Runs, ACallThatChangesNothingIsFinishedAtOnce) {
  want_web();
  const CallId call = want_web();
  EXPECT_TRUE(driver.reply_to<Accepted>(call));
  EXPECT_TRUE(finished(call)->statuses.empty());
}

TEST_F(Runs, TheTimeoutAnswersWithWhatThereIsExactlyThen) {
  agent().starts_slowly = true;
  const CallId call = want_web();
  driver.advance(600s - 1us);
  EXPECT_FALSE(finished(call));
  driver.advance(1us);
  ASSERT_TRUE(finished(call));
  EXPECT_TRUE(finished(call)->timed_out);
  EXPECT_EQ(finished(call)->statuses.at(0).state, InstanceState::Activating);
  driver.set("n1", kWeb, InstanceState::Active);
  EXPECT_TRUE(driver.effects().replies.empty()) << "answered once";
}

TEST_F(Runs, ANodeThatGoesAwayDoesNotBlockTheCall) {
  agent().starts_slowly = true;
  const CallId call = want_web();
  driver.disconnect("n1");
  driver.advance(2s);
  ASSERT_TRUE(finished(call));
  EXPECT_FALSE(finished(call)->timed_out);
}

TEST_F(Runs, ANodeInErrorDoesNotBlockTheCall) {
  agent().answers = false;
  const CallId call = driver.apply({a_service("web").pinned(), a_deployment("d", {a_run("web")})});
  driver.become("n1", a_node().state(model::NodeState::Error));
  EXPECT_TRUE(finished(call));
}

TEST_F(Runs, ADeletionIsFinishedWhenTheNodeSaysThatAllHasStopped) {
  want_web();
  agent().stops_slowly = true;
  const CallId call = driver.erase("Deployment", "d");
  EXPECT_TRUE(driver.reply_to<Accepted>(call));
  EXPECT_FALSE(finished(call));
  agent().drop(kWeb);
  driver.report_changes("n1");
  EXPECT_TRUE(finished(call));
}

TEST_F(Runs, AMoveIsFinishedWhenTheSourceHasStopped) {
  want_web();
  driver.join("n2");
  agent().stops_slowly = true;
  const CallId call = driver.apply({a_deployment("d", {a_run("web").on("n2")})});
  EXPECT_TRUE(driver.runs("n2", kWeb));
  EXPECT_FALSE(finished(call));
  agent().drop(kWeb);
  driver.report_changes("n1");
  EXPECT_TRUE(finished(call));
}

TEST_F(Runs, AnUpdateIsFinishedWhenTheNewVersionIsUp) {
  want_web();
  agent().starts_slowly = true;
  const CallId call =
      driver.apply({a_service("web").version("2"), a_deployment("d", {a_run("web").version("2")})});
  EXPECT_FALSE(finished(call));
  driver.set("n1", kWeb, InstanceState::Active);
  EXPECT_FALSE(finished(call)) << "it must stay up for a moment";
  driver.advance(2s);
  EXPECT_EQ(finished(call)->statuses.at(0).version, "2");
}

TEST_F(Runs, AnEditUnderTheSameVersionIsFinishedWhenTheNodeHasActedOnIt) {
  want_web();
  agent().answers = false;
  const CallId call = driver.apply({a_service("web").env("mode", "quiet")});
  EXPECT_FALSE(finished(call));
  driver.report("n1", agent().answer(driver.commands_to("n1").at(0)));
  EXPECT_FALSE(finished(call)) << "it must stay up for a moment";
  agent().answers = true;
  driver.advance(2s);
  EXPECT_TRUE(finished(call));
}

TEST_F(Runs, ACallThatAsksForSomethingElseEndsTheOneBefore) {
  agent().starts_slowly = true;
  const CallId first = want_web();
  const CallId second =
      driver.apply({a_service("web").version("2"), a_deployment("d", {a_run("web").version("2")})});
  EXPECT_TRUE(finished(first));
  EXPECT_FALSE(finished(second));
  driver.set("n1", kWeb, InstanceState::Active);
  driver.advance(2s);
  EXPECT_TRUE(finished(second));
}

TEST_F(Runs, ACallThatWaitsForANodeThatIsForgottenIsFinished) {
  agent().answers = false;
  const CallId call = want_web();
  driver.disconnect("n1");
  driver.forget("n1");
  EXPECT_TRUE(finished(call));
  EXPECT_EQ(driver.status_of(kWeb), "failed(NoConnectedNodes)");
}

}  // namespace
}  // namespace berth::control
