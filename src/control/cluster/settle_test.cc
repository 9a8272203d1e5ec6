#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

// Two nodes; "web" runs on one of them. The controller has just been started again.
class Settling : public testing::Test {
 protected:
  Settling() {
    driver.join("n1");
    driver.join("n2");
    driver.apply({a_service("web"), a_deployment("d", {a_run("web").on("n1")})});
    driver.restart();
  }

  Driver driver;
};

TEST_F(Settling, EverythingThatWasPlacedIsActivatingAtTheStart) {
  EXPECT_EQ(driver.status_of(kWeb), "activating");
  EXPECT_EQ(driver.effects().changes.size(), 1u);
}

TEST_F(Settling, ItEndsWhenAllKnownAgentsHaveReported) {
  driver.connect("n1");
  EXPECT_FALSE(driver.controller().settled());
  EXPECT_TRUE(driver.effects().commands.empty());
  driver.connect("n2");
  EXPECT_TRUE(driver.controller().settled());
  EXPECT_TRUE(driver.noted(NoteKind::Settled));
}

TEST_F(Settling, ItEndsExactlyAfterFiveSeconds) {
  driver.connect("n1");
  driver.advance(5s - 1us);
  EXPECT_FALSE(driver.controller().settled());
  driver.advance(1us);
  EXPECT_TRUE(driver.controller().settled());
}

TEST_F(Settling, NodesNobodyKnewAreNotWaitedFor) {
  driver.join("n3");
  driver.connect("n1");
  driver.connect("n2");
  EXPECT_TRUE(driver.controller().settled());
}

TEST_F(Settling, AReportedStatusCountsBeforeSettling) {
  driver.connect("n1");
  EXPECT_EQ(driver.status_of(kWeb), "active");
}

TEST_F(Settling, NothingIsPlacedBefore) {
  driver.connect("n1");
  const CallId call = driver.apply({a_service("db"), a_deployment("e", {a_run("db")})});
  EXPECT_TRUE(driver.effects().commands.empty());
  EXPECT_TRUE(driver.effects().replies.empty());
  EXPECT_FALSE(driver.durable().instances.contains(key_of("db")));
  driver.connect("n2");
  EXPECT_TRUE(driver.reply_to<Accepted>(call));
  EXPECT_EQ(driver.status_of(key_of("db")), "active");
}

TEST_F(Settling, AnUnknownServiceIsStoppedOnlyAfterwards) {
  driver.agent("n1").find({.key = key_of("stray"), .runtime = model::RuntimeId{"crun"}});
  driver.connect("n1");
  EXPECT_TRUE(driver.runs("n1", key_of("stray")));
  driver.connect("n2");
  EXPECT_FALSE(driver.runs("n1", key_of("stray")));
  EXPECT_TRUE(driver.runs("n1", kWeb));
}

TEST_F(Settling, NothingHealthyIsRestartedByARestartOfTheController) {
  driver.connect("n1");
  driver.connect("n2");
  EXPECT_EQ(driver.status_of(kWeb), "active");
  EXPECT_EQ(driver.agent("n1").starts.at(kWeb), 1);
}

TEST_F(Settling, AKnownAgentThatStaysAwayIsUnreachableThenLost) {
  driver.connect("n2");
  driver.advance(5s);
  EXPECT_EQ(driver.liveness("n1"), Liveness::Unreachable);
  EXPECT_EQ(driver.status_of(kWeb), "activating, unverified");
  driver.advance(55s);
  EXPECT_EQ(driver.liveness("n1"), Liveness::Lost);
  EXPECT_EQ(driver.status_of(kWeb), "failed(NoMatchingNodeId)");
}

TEST_F(Settling, AnInstanceThatIsNotConfirmedIsFailedExactlyAfterTenMinutes) {
  FakeAgent& silent = driver.agent("n1");
  silent.answers = false;
  silent.lose_everything();
  driver.connect("n1");
  driver.connect("n2");
  const auto let_time_pass = [&](Duration time) {
    for (; time > 2s; time -= 2s) {
      driver.advance(2s);
      driver.heartbeat("n1");
    }
    driver.advance(time);
  };
  let_time_pass(600s - 1us);
  EXPECT_EQ(driver.status_of(kWeb), "activating");
  driver.advance(1us);
  EXPECT_EQ(driver.status_of(kWeb), "failed(NotConfirmed)");
}

TEST(Start, WhatItsNodeDoesNotConfirmInTheTimeOfARunIsFailedUntilItIsHeardOf) {
  Config config;
  config.run_timeout = 60s;
  Driver driver(config);
  driver.join("n1");
  driver.agent("n1").answers = false;
  const CallId call = driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  const model::Command command = driver.commands_to("n1").at(0);
  for (int i = 0; i < 30; ++i) {
    driver.advance(2s);
    if (i < 29) driver.heartbeat("n1");
  }
  EXPECT_TRUE(driver.reply_to<Finished>(call)->timed_out);
  EXPECT_EQ(driver.status_of(key_of("web")), "failed(NotConfirmed)");
  EXPECT_EQ(driver.place_of(key_of("web")), "n1/crun") << "nothing is taken back";
  driver.report("n1", driver.agent("n1").answer(command));
  EXPECT_EQ(driver.status_of(key_of("web")), "active");
}

TEST(Start, ANewClusterIsSettledAtOnce) {
  Driver driver;
  EXPECT_TRUE(driver.controller().settled());
}

TEST(Start, ForgettingTheLastSilentNodeEndsTheSettling) {
  Driver driver;
  driver.join("n1");
  driver.restart();
  EXPECT_FALSE(driver.controller().settled());
  driver.forget("n1");
  EXPECT_TRUE(driver.controller().settled());
}

}  // namespace
}  // namespace berth::control
