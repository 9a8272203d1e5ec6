#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

using model::InstanceState;

// One node that runs one service; from here on the test speaks for its agent.
class Reports : public testing::Test {
 protected:
  Reports() {
    driver.join("n1");
    driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
    agent().answers = false;
  }

  FakeAgent& agent() { return driver.agent("n1"); }
  std::string status() { return driver.status_of(kWeb); }
  bool asked_for_full_report() const {
    const auto commands = driver.commands_to("n1");
    return !commands.empty() && commands.back().report_fully;
  }
  // A report that says the instance has failed.
  model::Report failure() {
    agent().set(kWeb, InstanceState::Failed, {"Crashed", "exit code 1"});
    return agent().changes();
  }

  Driver driver;
};

TEST_F(Reports, TheNextRevisionIsApplied) {
  driver.report("n1", failure());
  EXPECT_EQ(status(), "failed(Crashed)");
}

TEST_F(Reports, AnAgentInDoubtGetsAFullCommandThoughItHasActedOnTheLast) {
  driver.disconnect("n1");
  driver.connect_silently("n1");
  model::Report report = agent().full();
  report.in_doubt = true;
  driver.report("n1", report);
  const auto commands = driver.commands_to("n1");
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_FALSE(commands[0].base);
  ASSERT_EQ(commands[0].run.size(), 1U);
  EXPECT_EQ(commands[0].run[0].key, kWeb);
  EXPECT_GT(commands[0].number, report.acted);
}

// Its agent has restarted, and a runtime does not answer it.
TEST_F(Reports, WhatAnAgentCannotKnowOfIsNotGone) {
  driver.erase("Deployment", "d");
  ASSERT_EQ(driver.commands_to("n1").at(0).stop, std::vector{kWeb});
  agent().acted = driver.commands_to("n1").at(0).number;
  driver.connect_silently("n1");
  model::Report report = agent().full();
  report.untold_runtimes = {report.instances.at(0).runtime};
  report.instances.clear();
  driver.report("n1", report);
  EXPECT_TRUE(driver.controller().nodes().at(model::NodeId("n1")).orders->stopping.contains(kWeb));
  ++report.revision;
  report.untold_runtimes.clear();
  driver.report("n1", report);
  EXPECT_FALSE(driver.controller().nodes().at(model::NodeId("n1")).orders->stopping.contains(kWeb));
}

// It was told to stop before anybody heard that it runs, and its agent then died in the middle of
// that.
TEST_F(Reports, WhatWasNeverListedAndCannotBeKnownOfIsNotGone) {
  agent().answers = false;
  driver.apply({a_service("db"), a_deployment("e", {a_run("db")})});
  driver.erase("Deployment", "e");
  ASSERT_EQ(driver.commands_to("n1").at(0).stop, std::vector{key_of("db")});
  agent().acted = driver.commands_to("n1").at(0).number;
  driver.connect_silently("n1");
  model::Report report = agent().full();
  report.untold_runtimes = {report.instances.at(0).runtime};
  driver.report("n1", report);
  const auto& stopping = driver.controller().nodes().at(model::NodeId("n1")).orders->stopping;
  EXPECT_TRUE(stopping.contains(key_of("db")));
  ++report.revision;
  report.untold_runtimes.clear();
  driver.report("n1", report);
  EXPECT_FALSE(stopping.contains(key_of("db")));
}

TEST_F(Reports, AnEqualRevisionIsADuplicate) {
  model::Report report = failure();
  report.revision -= 1;
  driver.report("n1", report);
  EXPECT_EQ(status(), "active");
  EXPECT_TRUE(driver.is_idle());
}

TEST_F(Reports, AnOlderRevisionIsDropped) {
  model::Report report = failure();
  report.revision -= 2;
  driver.report("n1", report);
  EXPECT_EQ(status(), "active");
  EXPECT_TRUE(driver.is_idle());
}

TEST_F(Reports, AGapMakesTheControllerAskForAFullReport) {
  agent().skip_a_revision();
  driver.report("n1", failure());
  EXPECT_EQ(status(), "active");
  EXPECT_TRUE(asked_for_full_report());
  EXPECT_TRUE(driver.noted(NoteKind::ReportGap, "node/n1"));
  EXPECT_TRUE(driver.effects().writes.empty());

  driver.report_fully("n1");
  EXPECT_EQ(status(), "failed(Crashed)");
}

TEST_F(Reports, AHeartbeatOfALaterRevisionIsAGapToo) {
  agent().skip_a_revision();
  driver.heartbeat("n1");
  EXPECT_TRUE(asked_for_full_report());
}

TEST_F(Reports, AFullReportIsAskedForOncePerHeartbeatPeriod) {
  agent().skip_a_revision();
  driver.heartbeat("n1");
  driver.advance(1999ms);
  driver.heartbeat("n1");
  EXPECT_TRUE(driver.is_idle());
  driver.advance(1ms);
  driver.heartbeat("n1");
  EXPECT_TRUE(asked_for_full_report());
}

TEST_F(Reports, TheRequestForAFullReportChangesNothingForTheAgent) {
  agent().skip_a_revision();
  driver.heartbeat("n1");
  const model::Command request = driver.commands_to("n1").at(0);
  EXPECT_EQ(request.number, agent().acted);
  EXPECT_EQ(request.base, agent().acted);
  EXPECT_TRUE(request.run.empty() && request.stop.empty());
}

TEST_F(Reports, TheFirstFullReportOfAConnectionCountsWhateverItsRevision) {
  agent().set(kWeb, InstanceState::Failed, {"Crashed", ""});
  model::Report report = agent().full();
  report.revision = 1;
  driver.connect_silently("n1");
  driver.report("n1", report);
  EXPECT_EQ(status(), "failed(Crashed)");
}

TEST_F(Reports, APartialReportBeforeTheFirstFullOneIsAGap) {
  driver.connect_silently("n1");
  driver.report("n1", failure());
  EXPECT_EQ(status(), "active");
  EXPECT_TRUE(asked_for_full_report());
}

TEST_F(Reports, AFullReportThatWasOvertakenTellsOldNews) {
  const model::Report old = agent().full();
  driver.report_fully("n1");
  driver.report("n1", failure());
  driver.report("n1", old);
  EXPECT_EQ(status(), "failed(Crashed)");
}

TEST_F(Reports, AFullReportWithoutItsNodeIsAskedForAgain) {
  model::Report report = agent().full();
  report.node.reset();
  report.instances.clear();
  driver.report("n1", report);
  EXPECT_EQ(status(), "active");
  EXPECT_TRUE(asked_for_full_report());
}

TEST_F(Reports, MessagesOfAnOldConnectionAreIgnored) {
  const ConnectionId old = driver.connection("n1");
  driver.connect("n1");
  driver.tell({NodeReported{node_id("n1"), old, failure()}});
  EXPECT_EQ(status(), "active");
  driver.tell({NodeDisconnected{node_id("n1"), old}});
  driver.advance(2s);
  EXPECT_EQ(driver.liveness("n1"), Liveness::Reachable);
}

TEST_F(Reports, ANewerConnectionReplacesTheOlderAndAnOlderOneIsRefused) {
  const ConnectionId newest = driver.connection("n1");
  driver.tell({NodeConnected{node_id("n1"), newest - 1}});
  EXPECT_EQ(driver.controller().nodes().at(node_id("n1")).connection, newest);
  driver.connect("n1");
  EXPECT_GT(driver.controller().nodes().at(node_id("n1")).connection, newest);
}

TEST_F(Reports, NothingIsKnownOfANodeThatNeverConnected) {
  driver.tell({NodeReported{node_id("n9"), 1, agent().full()}});
  EXPECT_FALSE(driver.controller().nodes().contains(node_id("n9")));
}

// --- The truth ---------------------------------------------------------------------------------

TEST_F(Reports, WhatAFullReportDoesNotListIsToldAgain) {
  agent().answers = true;
  agent().drop(kWeb);
  driver.report_fully("n1");
  EXPECT_EQ(status(), "activating");
  ASSERT_EQ(driver.commands_to("n1").size(), 1u);
  EXPECT_EQ(driver.commands_to("n1")[0].run.at(0).key, kWeb);
}

TEST_F(Reports, WhatWasAskedForByANewerCommandIsNotMissed) {
  driver.apply({a_service("db"), a_deployment("e", {a_run("db")})});
  const model::Report before_the_command = agent().full();
  driver.report("n1", before_the_command);
  EXPECT_TRUE(driver.effects().commands.empty());
  EXPECT_EQ(driver.status_of(key_of("db")), "activating");
}

TEST_F(Reports, WhatAnOlderCommandAskedForIsMissedThoughANewerOneIsOnItsWay) {
  driver.apply({a_service("db"), a_deployment("e", {a_run("db")})});
  agent().drop(kWeb);
  driver.report_fully("n1");
  ASSERT_EQ(driver.commands_to("n1").size(), 1u);
  EXPECT_EQ(driver.commands_to("n1")[0].run.at(0).key, kWeb);
}

TEST_F(Reports, AnInstanceThatVanishedHasItsTimeToComeBack) {
  driver.advance(1s);
  agent().answers = true;
  driver.advance(3600s);
  agent().answers = false;
  agent().drop(kWeb);
  driver.report_fully("n1");
  EXPECT_EQ(status(), "activating");
}

// --- Numbers -----------------------------------------------------------------------------------

TEST_F(Reports, WhoClaimsWhatWasNeverOrderedIsNotBelieved) {
  const std::uint64_t revision = driver.revision();
  model::Report report = failure();
  report.acted.number += 1;
  driver.report("n1", report);
  EXPECT_TRUE(driver.noted(NoteKind::ReportRefused, "node/n1"));
  EXPECT_EQ(driver.revision(), revision);
  EXPECT_EQ(status(), "active");
  driver.report("n1", report);
  EXPECT_TRUE(driver.is_idle()) << "it is said once";
}

}  // namespace
}  // namespace berth::control
