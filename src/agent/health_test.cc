#include "agent/health.h"

#include <gtest/gtest.h>

#include "agent/driver.h"

namespace berth::agent {
namespace {

using model::InstanceState;

const model::HealthCheck kEvery5s{model::TcpCheck{80}, 5s, 3};
const Time kStart = Time{} + 100s;

TEST(Health, IsAskedAtOnceAndThenOnceAPeriod) {
  Health health(kEvery5s, kStart, Health::First::Counts);
  EXPECT_TRUE(health.ask(kStart));
  EXPECT_FALSE(health.ask(kStart));
  health.answered(kStart + 1s, true, "");
  EXPECT_EQ(health.due(), kStart + 5s);
  EXPECT_FALSE(health.ask(kStart + 5s - 1us));
  EXPECT_TRUE(health.ask(kStart + 5s));
}

TEST(Health, ASlowAnswerDelaysTheNextCheck) {
  Health health(kEvery5s, kStart, Health::First::Counts);
  EXPECT_TRUE(health.ask(kStart));
  EXPECT_FALSE(health.ask(kStart + 7s));
  health.answered(kStart + 8s, true, "");
  EXPECT_TRUE(health.ask(kStart + 8s));
}

TEST(Health, NoAnswerForTenSecondsIsAFailure) {
  Health health({model::TcpCheck{80}, 5s, 1}, kStart, Health::First::Counts);
  EXPECT_TRUE(health.ask(kStart));
  health.begun(kStart);
  EXPECT_FALSE(health.ask(kStart + 10s - 1us));
  EXPECT_FALSE(health.has_failed());
  EXPECT_FALSE(health.ask(kStart + 10s));
  EXPECT_TRUE(health.has_failed());
  EXPECT_EQ(health.message(), "no answer for 10s");
}

TEST(Health, NoAnswerForALongPeriodIsAFailure) {
  Health health({model::TcpCheck{80}, 30s, 1}, kStart, Health::First::Counts);
  EXPECT_TRUE(health.ask(kStart));
  EXPECT_EQ(health.due(), kStart + 30s);
}

TEST(Health, TheTimeThatACheckWaitsForItsTurnDoesNotCount) {
  Health health({model::TcpCheck{80}, 5s, 1}, kStart, Health::First::Counts);
  EXPECT_TRUE(health.ask(kStart));
  EXPECT_FALSE(health.ask(kStart + 9s));
  health.begun(kStart + 9s);
  EXPECT_FALSE(health.ask(kStart + 10s));
  EXPECT_FALSE(health.has_failed());
  EXPECT_EQ(health.due(), kStart + 19s);
  health.answered(kStart + 18s, true, "");
  EXPECT_TRUE(health.has_passed());
}

TEST(Health, ACheckThatDoesNotBeginIsAskedForAgainAndIsNoFailure) {
  Health health({model::TcpCheck{80}, 5s, 1}, kStart, Health::First::Counts);
  for (Time now = kStart; now < kStart + 1h; now += 10s) EXPECT_TRUE(health.ask(now));
  EXPECT_FALSE(health.has_failed());
}

TEST(Health, OnlyFailuresInARowCount) {
  Health health(kEvery5s, kStart, Health::First::Counts);
  Time now = kStart;
  for (const bool healthy : {false, false, true, false, false}) {
    EXPECT_TRUE(health.ask(now));
    health.answered(now, healthy, "refused");
    now += 5s;
  }
  EXPECT_FALSE(health.has_failed());
  EXPECT_TRUE(health.ask(now));
  health.answered(now, false, "refused");
  EXPECT_TRUE(health.has_failed());
}

TEST(Health, FailuresDoNotCountWhileItComesUp) {
  Health health({model::TcpCheck{80}, 5s, 1, 12s}, kStart, Health::First::Counts);
  for (const Duration at : {0s, 5s, 10s}) {
    EXPECT_TRUE(health.ask(kStart + at));
    health.answered(kStart + at, false, "refused");
    EXPECT_FALSE(health.has_failed());
  }
  EXPECT_TRUE(health.ask(kStart + 15s));
  health.answered(kStart + 15s, false, "refused");
  EXPECT_TRUE(health.has_failed());
}

TEST(Health, WhatHasComeUpIsNotForgiven) {
  Health health({model::TcpCheck{80}, 5s, 1, 1min}, kStart, Health::First::Counts);
  EXPECT_TRUE(health.ask(kStart));
  health.answered(kStart, true, "");
  EXPECT_TRUE(health.ask(kStart + 5s));
  health.answered(kStart + 5s, false, "refused");
  EXPECT_TRUE(health.has_failed());
}

TEST(Health, AnAnswerNobodyWaitsForIsIgnored) {
  Health health({model::TcpCheck{80}, 5s, 1}, kStart, Health::First::Counts);
  health.answered(kStart, false, "early");
  EXPECT_TRUE(health.ask(kStart));
  health.answered(kStart, true, "");
  health.answered(kStart, false, "again");
  EXPECT_FALSE(health.has_failed());
}

TEST(Health, TheFirstCheckOfAnAdoptedRunMayBeSlow) {
  Health health({model::TcpCheck{80}, 5s, 1}, kStart, Health::First::MayBeSlow);
  EXPECT_TRUE(health.ask(kStart));
  health.begun(kStart);
  EXPECT_TRUE(health.ask(kStart + 10s));
  EXPECT_FALSE(health.has_failed());
  health.begun(kStart + 10s);
  EXPECT_FALSE(health.ask(kStart + 20s));
  EXPECT_TRUE(health.has_failed());
}

TEST(Health, AHostilePeriodIsNoStorm) {
  Health health({model::TcpCheck{80}, 0s, 0}, kStart, Health::First::Counts);
  EXPECT_TRUE(health.ask(kStart));
  health.answered(kStart, true, "");
  EXPECT_FALSE(health.has_failed());
  EXPECT_GE(health.due(), kStart + 100ms);
}

// --- Of a whole agent --------------------------------------------------------------------------

class CheckedInstance : public testing::Test {
 protected:
  HealthChecked answer(bool healthy) { return {key_of("web"), run, healthy, "refused"}; }

  Driver driver = a_driver_running(a_spec("web").checked_every(5s, 3));
  RunId run{number(1), 0};
};

TEST_F(CheckedInstance, IsCheckedAsSoonAsItIsStarted) {
  ASSERT_EQ(driver.actions<CheckHealth>().size(), 1U);
  EXPECT_EQ(driver.actions<CheckHealth>()[0].run, run);
  EXPECT_EQ(driver.status("web").state, InstanceState::Activating);
}

TEST_F(CheckedInstance, IsActiveWithTheFirstPassingCheck) {
  driver.tell(answer(true));
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
}

TEST_F(CheckedInstance, HasOneCheckOutstandingAtMost) {
  driver.wait(9s);
  EXPECT_TRUE(driver.actions<CheckHealth>().empty());
  driver.tell(answer(true));
  EXPECT_EQ(driver.actions<CheckHealth>().size(), 1U);
}

TEST_F(CheckedInstance, StaysActiveOverAFewFailures) {
  driver.tell(answer(true));
  for (int i = 0; i < 2; ++i) {
    driver.wait(5s);
    driver.tell(answer(false));
  }
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
  EXPECT_TRUE(driver.actions<Stop>().empty());
}

TEST_F(CheckedInstance, IsStoppedAndRestartedAfterTooManyFailures) {
  driver.tell(answer(true));
  for (int i = 0; i < 3; ++i) {
    driver.wait(5s);
    driver.tell(answer(false));
  }
  ASSERT_EQ(driver.actions<Stop>().size(), 1U);
  EXPECT_TRUE(driver.noted("unhealthy: refused"));
  EXPECT_EQ(driver.status("web").state, InstanceState::Failed);
  EXPECT_EQ(driver.status("web").problem.reason, "Unhealthy");
  driver.tell(Exited{key_of("web"), run, 0});
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_EQ(driver.status("web").problem.message, "health checks failed: refused; next try in 1s");
  driver.wait(1s);
  EXPECT_EQ(driver.started_run(), (RunId{number(1), 1}));
}

TEST_F(CheckedInstance, IsRestartedIfItNeverPasses) {
  for (int i = 0; i < 3; ++i) {
    driver.tell(answer(false));
    if (i < 2) driver.wait(5s);
  }
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
}

TEST_F(CheckedInstance, IsRestartedIfItsChecksAreNeverAnswered) {
  for (int i = 0; i < 3; ++i) {
    driver.tell(CheckBegun{key_of("web"), run});
    driver.wait(10s - 1us);
    EXPECT_TRUE(driver.actions<Stop>().empty());
    driver.wait(1us);
  }
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
}

TEST_F(CheckedInstance, IsNotRestartedBecauseItsChecksWaitForThoseOfOthers) {
  driver.tell(answer(true));
  driver.wait(10min);
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_GT(driver.actions<CheckHealth>().size(), 1U) << "it is asked again";
}

TEST_F(CheckedInstance, TakesAnotherCheckOverWithoutARestart) {
  driver.tell(answer(true));
  driver.tell(a_full_command(2, {a_spec("web").checked_every(60s, 1)}));
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_EQ(driver.actions<CheckHealth>().size(), 1U) << "the new one begins at once";
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
  driver.tell(answer(true));
  driver.wait(60s);
  driver.tell(answer(false));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U) << "one failure is enough now";
}

TEST_F(CheckedInstance, IsActiveWithoutARestartWhenItsCheckIsTakenAway) {
  driver.tell(a_full_command(2, {a_spec("web")}));
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
  driver.wait(60s);
  EXPECT_TRUE(driver.actions<CheckHealth>().empty());
}

TEST_F(CheckedInstance, IsNotCheckedWhileItStops) {
  driver.tell(a_full_command(2, {}));
  driver.wait(60s);
  EXPECT_TRUE(driver.actions<CheckHealth>().empty());
}

}  // namespace
}  // namespace berth::agent
