#include <gtest/gtest.h>

#include "control/testing.h"

// The examples of how nodes and runtimes become ready are transcripts, tests/scenarios/control;
// here is what they cannot say: whose clock counts, and what is missed.
namespace berth::control {
namespace {

using model::ConditionStatus;
using model::ConditionType;
using model::Readiness;

const model::RuntimeId kCrun{"crun"};

model::NodeInfo crun_is(Readiness readiness) { return a_node().ready("crun", readiness); }

class ReadinessPass : public testing::Test {
 protected:
  ReadinessPass() { driver_.join("n1"); }

  const Condition& condition(ConditionType type = ConditionType::Ready) const {
    const auto& all = driver_.controller().nodes().at(node_id("n1")).readiness.conditions;
    return *std::ranges::find(all, type, &Condition::type);
  }
  Readiness graced() const {
    return driver_.controller().nodes().at(node_id("n1")).readiness.runtimes.at(kCrun).graced;
  }

  model::Report changes_after(Duration not_ready_for, Readiness readiness) {
    driver_.agent("n1").become(crun_is(readiness));
    model::Report report = driver_.agent("n1").changes();
    report.not_ready_for.emplace(kCrun, not_ready_for);
    return report;
  }

  Driver driver_;
};

TEST_F(ReadinessPass, TheGraceIsCountedFromWhenTheAgentSawIt) {
  driver_.report("n1", changes_after(2s, Readiness::NotReady));
  driver_.advance(999ms);
  EXPECT_EQ(graced(), Readiness::Ready);
  driver_.advance(1ms);
  EXPECT_EQ(graced(), Readiness::NotReady);
  EXPECT_EQ(condition().status, ConditionStatus::False);
}

TEST_F(ReadinessPass, WhatIsToldAgainAndLaterDoesNotProlongTheGrace) {
  driver_.report("n1", changes_after(0s, Readiness::NotReady));
  driver_.advance(2s);
  driver_.report("n1", changes_after(1s, Readiness::Unknown));  // it was a second on its way
  driver_.advance(1s);
  EXPECT_EQ(graced(), Readiness::Unknown);
}

TEST_F(ReadinessPass, AGraceThatWasOverBeforeWeHeardOfItIsOver) {
  driver_.disconnect("n1");
  driver_.advance(1s);
  driver_.agent("n1").become(crun_is(Readiness::NotReady));
  driver_.connect_silently("n1");
  model::Report report = driver_.agent("n1").full();
  report.not_ready_for.emplace(kCrun, 10s);
  driver_.report("n1", report);
  EXPECT_EQ(graced(), Readiness::NotReady);
}

// Between two reports of one step nothing is overlooked.
TEST_F(ReadinessPass, AMomentOfReadinessStartsTheClockAgain) {
  driver_.report("n1", changes_after(0s, Readiness::NotReady));
  driver_.advance(2999ms);
  const ConnectionId connection = driver_.connection("n1");
  FakeAgent& agent = driver_.agent("n1");
  agent.become(crun_is(Readiness::Ready));
  const model::Report ready = agent.changes();
  agent.become(crun_is(Readiness::NotReady));
  const model::Report not_ready = agent.changes();
  driver_.tell({NodeReported{node_id("n1"), connection, ready},
                NodeReported{node_id("n1"), connection, not_ready}});
  driver_.advance(2999ms);
  EXPECT_EQ(graced(), Readiness::Ready);
  driver_.advance(1ms);
  EXPECT_EQ(graced(), Readiness::NotReady);
}

TEST_F(ReadinessPass, ANewLifeOfTheAgentDoesNotProlongTheGrace) {
  driver_.report("n1", changes_after(0s, Readiness::NotReady));
  driver_.advance(1s);
  driver_.connect_silently("n1");
  model::Report report = driver_.agent("n1").full();
  report.boot_id = "another";
  driver_.report("n1", report);
  driver_.advance(2s);
  EXPECT_EQ(graced(), Readiness::NotReady);
}

TEST_F(ReadinessPass, EachRuntimeHasAGraceOfItsOwn) {
  driver_.become("n1", a_node().grace("crun", 10s));
  driver_.become("n1", a_node().grace("crun", 10s).ready("crun", Readiness::NotReady));
  driver_.advance(9999ms);
  EXPECT_EQ(graced(), Readiness::Ready);
  driver_.advance(1ms);
  EXPECT_EQ(graced(), Readiness::NotReady);
}

TEST_F(ReadinessPass, WordsForPeopleChangeNothingElse) {
  driver_.become("n1", crun_is(Readiness::NotReady));
  driver_.advance(3s);
  const std::uint64_t revision = driver_.revision();
  model::NodeInfo info = crun_is(Readiness::NotReady);
  info.runtimes.front().message = "another reason";
  driver_.become("n1", info);
  EXPECT_EQ(condition().message, "crun is NotReady: another reason");
  EXPECT_EQ(driver_.revision(), revision);
  EXPECT_TRUE(driver_.effects().notes.empty());
}

TEST_F(ReadinessPass, ConditionsOfKindsThatAreGoneAreGone) {
  driver_.become("n1", a_node().runtime("vm", model::RuntimeType::Vm));
  EXPECT_EQ(condition(ConditionType::VmRuntimeReady).status, ConditionStatus::True);
  driver_.become("n1", a_node());
  EXPECT_EQ(driver_.controller().nodes().at(node_id("n1")).readiness.conditions.size(), 2U);
}

TEST_F(ReadinessPass, ANodeWithoutRuntimesIsNotReady) {
  driver_.become("n1", a_node().no_runtimes());
  EXPECT_EQ(condition().status, ConditionStatus::False);
  EXPECT_EQ(condition().reason, "NoRuntime");
}

// A runtime that was there before counts as new: nobody knows what it is now.
TEST_F(ReadinessPass, ARuntimeThatIsBackHasNoGraceBeforeItIsReady) {
  driver_.become("n1", a_node().no_runtimes());
  driver_.become("n1", crun_is(Readiness::NotReady));
  EXPECT_EQ(graced(), Readiness::NotReady);
}

TEST_F(ReadinessPass, TheTimeOfATransitionOutlivesTheController) {
  driver_.become("n1", crun_is(Readiness::NotReady));
  driver_.advance(3s);
  const Time changed = condition().changed;
  driver_.advance(100s);
  driver_.restart();
  driver_.connect("n1");
  EXPECT_EQ(condition().changed, changed);
  EXPECT_EQ(condition().status, ConditionStatus::False);
}

// A date that was set in between must not make a short while long.
TEST_F(ReadinessPass, AClockThatJumpsWhileTheControllerIsDownEvictsNothing) {
  model::NodeConfig config;
  config.name = "evictions";
  config.evict_after = 90s;
  driver_.apply({config});
  driver_.become("n1", crun_is(Readiness::NotReady));
  driver_.advance(10s);
  Driver later({.date_of_zero = 24h * 365 * 2}, driver_.durable());
  later.join("n1", crun_is(Readiness::NotReady));
  const auto is_evicting = [&later] {
    return later.controller().nodes().at(node_id("n1")).readiness.runtimes.at(kCrun).evicting;
  };
  later.advance(89s);
  EXPECT_FALSE(is_evicting());
  later.advance(1s);
  EXPECT_TRUE(is_evicting());
}

TEST_F(ReadinessPass, ANewNodeHasNotBeenReadySinceItsAgentSaysSo) {
  driver_.add("n2", crun_is(Readiness::NotReady));
  driver_.connect_silently("n2");
  model::Report report = driver_.agent("n2").full();
  report.not_ready_for.emplace(kCrun, 10s);
  driver_.report("n2", report);
  const auto& runtimes = driver_.controller().nodes().at(node_id("n2")).readiness.runtimes;
  EXPECT_EQ(runtimes.at(kCrun).not_ready_since, driver_.now() - 10s);
}

TEST_F(ReadinessPass, ARefusalSaysWhichRuntimeIsNotReadyAndSinceWhen) {
  driver_.become("n1", crun_is(Readiness::NotReady));
  driver_.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  const model::DecisionRecord* decision = driver_.controller().decision_about(key_of("web"));
  ASSERT_NE(decision, nullptr);
  ASSERT_EQ(decision->answers.nodes().size(), 1U);
  EXPECT_EQ(decision->answers.nodes().front().what,
            "crun is NotReady since 1970-01-01T00:16:40.000Z");
}

}  // namespace
}  // namespace berth::control
