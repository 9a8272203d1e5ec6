#include "agent/standstill.h"

#include <gtest/gtest.h>

#include "agent/driver.h"

namespace berth::agent {
namespace {

using model::InstanceState;
using model::Pausing;

const Time kStandstillStart = Time{} + 100s;

TEST(Standstill, ARunThatGoesOnIsToldNothing) {
  Standstill run;
  EXPECT_EQ(run.ask(kStandstillStart, Pausing::Running, 60s), std::nullopt);
  EXPECT_EQ(run.due(), std::nullopt);
}

TEST(Standstill, IsOrderedOnceAndThenIsSo) {
  Standstill run;
  const auto order = run.ask(kStandstillStart, Pausing::Paused, 60s);
  ASSERT_TRUE(order);
  EXPECT_TRUE(run.may_be_paused());
  EXPECT_FALSE(run.is_paused());
  EXPECT_EQ(run.ask(kStandstillStart, Pausing::Paused, 60s), std::nullopt);
  EXPECT_TRUE(run.answered(kStandstillStart, *order, ""));
  EXPECT_TRUE(run.is_paused());
  EXPECT_EQ(run.due(), std::nullopt);
}

TEST(Standstill, AnAnswerToAnEarlierOrderIsIgnored) {
  Standstill run;
  const auto first = run.ask(kStandstillStart, Pausing::Paused, 60s);
  const auto second = run.ask(kStandstillStart, Pausing::Running, 60s);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(run.answered(kStandstillStart, *first, ""));
  EXPECT_FALSE(run.is_paused());
  EXPECT_TRUE(run.answered(kStandstillStart, *second, ""));
  EXPECT_FALSE(run.answered(kStandstillStart, *second, ""));
  EXPECT_FALSE(run.may_be_paused());
}

TEST(Standstill, AnOrderThatIsNotAnsweredIsGivenAgain) {
  Standstill run;
  const auto first = run.ask(kStandstillStart, Pausing::Paused, 60s);
  EXPECT_EQ(run.due(), kStandstillStart + 60s);
  const auto second = run.ask(kStandstillStart + 60s, Pausing::Paused, 60s);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  EXPECT_EQ(run.problem()->reason, "PauseFailed");
  EXPECT_TRUE(run.answered(kStandstillStart + 61s, *second, ""));
  EXPECT_EQ(run.problem(), std::nullopt);
}

TEST(Standstill, WhatFailedIsTriedAgainLaterAndLater) {
  Standstill run;
  Time now = kStandstillStart;
  for (const Duration wait : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    const auto order = run.ask(now, Pausing::Paused, 60s);
    ASSERT_TRUE(order);
    run.answered(now, *order, "frozen solid");
    EXPECT_EQ(run.problem(), (model::Problem{"PauseFailed", "frozen solid"}));
    EXPECT_EQ(run.due(), now + wait);
    EXPECT_EQ(run.ask(now + wait - 1us, Pausing::Paused, 60s), std::nullopt);
    now += wait;
  }
}

// Nobody knows how far a pause that failed has come.
TEST(Standstill, AFailedPauseIsTakenBackWhenItShallGoOn) {
  Standstill run;
  run.answered(kStandstillStart, run.ask(kStandstillStart, Pausing::Paused, 60s).value_or(0),
               "frozen solid");
  EXPECT_FALSE(run.may_be_paused());
  const auto order = run.ask(kStandstillStart, Pausing::Running, 60s);
  ASSERT_TRUE(order);
  EXPECT_EQ(run.problem(), std::nullopt);
  run.answered(kStandstillStart, *order, "");
  EXPECT_EQ(run.ask(kStandstillStart, Pausing::Running, 60s), std::nullopt);
}

TEST(Standstill, AFoundRunIsToldWhatItShallDo) {
  Standstill run;
  run.doubt();
  EXPECT_FALSE(run.may_be_paused());
  EXPECT_TRUE(run.ask(kStandstillStart, Pausing::Running, 60s));
}

// --- Of a whole agent --------------------------------------------------------------------------

class PausedInstance : public testing::Test {
 protected:
  // The only order of the step.
  SetPausing order() {
    const auto orders = driver.actions<SetPausing>();
    CHECK(orders.size() == 1, "the test expects one order");
    return orders[0];
  }
  void answer(const SetPausing& order, const std::string& problem = "") {
    driver.tell(PausingSet{order.key, order.run, order.order, problem});
  }
  // Tells it to pause, by command 2, and lets that be done.
  void pause() {
    driver.tell(a_partial_command(2, {a_spec("web").paused()}));
    answer(order());
  }
  bool is_told_nothing() { return driver.actions<SetPausing>().empty(); }

  Driver driver = a_driver_running(a_spec("web"));
  const RunId run{number(1), 0};
};

TEST_F(PausedInstance, IsPausedWithoutARestartAndResumed) {
  driver.tell(a_partial_command(2, {a_spec("web").paused()}));
  EXPECT_EQ(order().pausing, Pausing::Paused);
  EXPECT_EQ(order().run, run);
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
  answer(order());
  EXPECT_TRUE(driver.noted("paused run"));
  EXPECT_EQ(driver.status("web").state, InstanceState::Paused);
  driver.tell(a_partial_command(3, {a_spec("web")}));
  EXPECT_EQ(order().pausing, Pausing::Running);
  EXPECT_EQ(driver.status("web").state, InstanceState::Paused);
  answer(order());
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_TRUE(driver.actions<Start>().empty());
}

TEST_F(PausedInstance, IsStartedFirst) {
  driver = a_driver();
  driver.tell(a_full_command(1, {a_spec("web").paused()}));
  EXPECT_TRUE(is_told_nothing());
  driver.tell(Started{key_of("web"), driver.started_run()});
  EXPECT_EQ(order().pausing, Pausing::Paused);
}

TEST_F(PausedInstance, StaysActiveAndSaysWhyWhenItCannotBePaused) {
  driver.tell(a_partial_command(2, {a_spec("web").paused()}));
  answer(order(), "frozen solid");
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
  EXPECT_EQ(driver.status("web").problem, (model::Problem{"PauseFailed", "frozen solid"}));
  driver.wait(1s);
  answer(order());
  EXPECT_EQ(driver.status("web").state, InstanceState::Paused);
  EXPECT_EQ(driver.status("web").problem, model::Problem{});
}

TEST_F(PausedInstance, IsToldAgainWhenItsRuntimeIsSilent) {
  driver.tell(a_partial_command(2, {a_spec("web").paused()}));
  const SetPausing first = order();
  driver.wait(60s);
  const SetPausing second = order();
  answer(first);
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
  answer(second);
  EXPECT_EQ(driver.status("web").state, InstanceState::Paused);
}

TEST_F(PausedInstance, ThatDiesIsStartedAndPausedAgain) {
  pause();
  driver.tell(Exited{key_of("web"), run, 137});
  EXPECT_EQ(driver.status("web").state, InstanceState::Failed);
  driver.wait(1s);
  driver.tell(Started{key_of("web"), driver.started_run()});
  EXPECT_EQ(order().pausing, Pausing::Paused);
  EXPECT_EQ(order().run, (RunId{number(1), 1}));
}

TEST_F(PausedInstance, IsStoppedLikeAnyOther) {
  pause();
  driver.tell(a_partial_command(3, {}, {key_of("web")}));
  ASSERT_EQ(driver.actions<Stop>().size(), 1U);
  EXPECT_TRUE(is_told_nothing());
  driver.tell(Exited{key_of("web"), run, 0});
  EXPECT_FALSE(driver.is_shown("web"));
}

TEST_F(PausedInstance, OfAnotherVersionIsStartedAndPausedWhenActive) {
  pause();
  driver.tell(a_partial_command(3, {a_spec("web").version("2").paused()}));
  ASSERT_EQ(driver.actions<Stop>().size(), 1U);
  driver.tell(Exited{key_of("web"), run, 0});
  const RunId next = driver.started_run();
  EXPECT_EQ(driver.status("web").state, InstanceState::Activating);
  driver.tell(Started{key_of("web"), next});
  EXPECT_EQ(order().run, next);
}

TEST_F(PausedInstance, IsPausedAgainAfterARestartOfTheAgent) {
  pause();
  driver.restart();
  driver.tell(Connected{2}, a_node(), a_list("crun", {a_found("web", run)}));
  EXPECT_EQ(order().pausing, Pausing::Paused);
  EXPECT_EQ(driver.status("web").state, InstanceState::Activating);
  answer(order());
  EXPECT_EQ(driver.status("web").state, InstanceState::Paused);
}

// It died between the command to go on and the deed.
TEST_F(PausedInstance, IsResumedAfterARestartOfTheAgent) {
  pause();
  driver.tell(a_partial_command(3, {a_spec("web")}));
  driver.restart();
  driver.tell(Connected{2}, a_node(), a_list("crun", {a_found("web", run)}));
  EXPECT_EQ(order().pausing, Pausing::Running);
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
  answer(order());
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
}

TEST_F(PausedInstance, MustNotBeAComponent) {
  driver = a_driver_running(a_spec("os").type(model::ItemType::Component).paused());
  EXPECT_TRUE(is_told_nothing());
  EXPECT_EQ(driver.status("os").state, InstanceState::Active);
}

class CheckedAndPaused : public PausedInstance {
 protected:
  CheckedAndPaused() { driver = a_driver_running(spec()); }
  static SpecBuilder spec() { return a_spec("web").checked_every(5s, 1); }
  HealthChecked health(bool healthy) { return {key_of("web"), run, healthy, "refused"}; }
  bool is_checked() { return !driver.actions<CheckHealth>().empty(); }
};

TEST_F(CheckedAndPaused, WaitsForTheCheckThatIsUnderWay) {
  driver.tell(a_partial_command(2, {spec().paused()}));
  EXPECT_TRUE(is_told_nothing()) << "it is not even active";
  driver.tell(health(true));
  EXPECT_EQ(order().pausing, Pausing::Paused);
}

TEST_F(CheckedAndPaused, IsNotUnhealthy) {
  driver.tell(a_partial_command(2, {spec().paused()}), health(true));
  answer(order());
  driver.wait(300s);
  EXPECT_FALSE(is_checked());
  driver.tell(health(false));
  EXPECT_EQ(driver.status("web").state, InstanceState::Paused);
  EXPECT_TRUE(driver.actions<Stop>().empty());
}

TEST_F(CheckedAndPaused, IsCheckedAnewWhenItGoesOn) {
  driver.tell(a_partial_command(2, {spec().paused()}), health(true));
  answer(order());
  driver.tell(a_partial_command(3, {spec()}));
  EXPECT_FALSE(is_checked());
  answer(order());
  EXPECT_TRUE(is_checked());
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
  driver.tell(health(false));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
}

TEST_F(CheckedAndPaused, IsCheckedWhileItCannotBePaused) {
  driver.tell(a_partial_command(2, {spec().paused()}), health(true));
  answer(order(), "frozen solid");
  EXPECT_TRUE(is_checked());
}

TEST_F(CheckedAndPaused, IsNotCheckedBeforeItIsPausedAgainAfterARestartOfTheAgent) {
  driver.tell(a_partial_command(2, {spec().paused()}), health(true));
  answer(order());
  driver.restart();
  driver.tell(Connected{2}, a_node(), a_list("crun", {a_found("web", run)}));
  EXPECT_EQ(order().pausing, Pausing::Paused);
  EXPECT_FALSE(is_checked());
}

}  // namespace
}  // namespace berth::agent
