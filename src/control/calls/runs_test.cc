#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

using model::InstanceState;

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
  EXPECT_FALSE(finished(call)) << "it must stay up for a moment";
  driver.advance(2s);
  ASSERT_TRUE(finished(call));
  EXPECT_FALSE(finished(call)->timed_out);
  ASSERT_EQ(finished(call)->statuses.size(), 1u);
  EXPECT_EQ(finished(call)->statuses[0].state, InstanceState::Active);
  EXPECT_TRUE(finished(call)->statuses[0].proven);
}

TEST_F(Runs, ANodeThatMayBeBackInAMomentIsWaitedForUntilItIsAway) {
  want_web();
  driver.advance(10s);
  driver.restart();
  const model::NodeId n1 = node_id("n1");
  const CallId call = 77;
  driver.tell({NodeConnected{n1, 77}, NodeReported{n1, 77, agent().full()},
               NodeDisconnected{n1, 77}, ApplyCall{call, {a_service("web")}}});
  ASSERT_TRUE(driver.reply_to<Accepted>(call));
  EXPECT_FALSE(finished(call)) << "nobody can vouch for it, and nobody says that it is away";
  driver.advance(2s);
  ASSERT_TRUE(finished(call));
  EXPECT_TRUE(finished(call)->statuses.at(0).away);
}

TEST_F(Runs, AnItemSaysHowLongItMustBeUp) {
  model::Item patient = a_service("web");
  patient.min_healthy = 10s;
  const CallId call = driver.apply({patient, a_deployment("d", {a_run("web")})});
  driver.advance(10s - 1us);
  EXPECT_FALSE(finished(call));
  driver.advance(2s);
  EXPECT_TRUE(finished(call));
  patient.min_healthy = 0s;
  EXPECT_TRUE(finished(driver.apply({patient}))) << "another time is no reason to restart it";
}

TEST_F(Runs, APassedCheckNeedsNoTime) {
  model::Item checked = a_service("web");
  checked.health = model::HealthCheck{.probe = model::TcpCheck{80}};
  EXPECT_TRUE(finished(driver.apply({checked, a_deployment("d", {a_run("web")})})));
}

TEST_F(Runs, WhatHasDoneItsWorkIsProven) {
  const CallId call = want_web();
  agent().finish(kWeb);
  driver.report_changes("n1");
  ASSERT_TRUE(finished(call));
  EXPECT_EQ(finished(call)->statuses.at(0).state, InstanceState::Inactive);
  EXPECT_TRUE(finished(call)->statuses.at(0).proven);
}

TEST_F(Runs, ACrashLoopIsNeverSuccess) {
  const CallId first = want_web();
  driver.advance(1s);
  driver.set("n1", kWeb, InstanceState::Failed, {"Exited", ""});
  ASSERT_TRUE(finished(first));
  EXPECT_FALSE(finished(first)->statuses.at(0).proven);
  driver.set("n1", kWeb, InstanceState::Active);
  const CallId second = want_web();
  for (std::uint32_t restarts = 1; restarts < 20; ++restarts) {
    driver.advance(1s);
    EXPECT_FALSE(finished(second)) << "it was restarted " << restarts << " times";
    agent().statuses.at(kWeb).restarts = restarts;  // so quickly that nobody saw it fail
    driver.set("n1", kWeb, InstanceState::Active);
    EXPECT_FALSE(finished(second));
  }
  driver.advance(3s);
  EXPECT_TRUE(finished(second)) << "now it stays up";
}

TEST_F(Runs, WhatFailsWhileOthersAreWaitedForIsNoSuccess) {
  driver.join("n2");
  driver.agent("n2").starts_slowly = true;
  const CallId call =
      driver.apply({a_service("web"), a_service("db"),
                    a_deployment("d", {a_run("web").on("n1"), a_run("db").on("n2")})});
  driver.advance(4s);
  EXPECT_TRUE(driver.controller().statuses().at(kWeb).proven);
  driver.set("n1", kWeb, InstanceState::Activating);
  driver.set("n2", key_of("db"), InstanceState::Active);
  driver.advance(4s);
  EXPECT_FALSE(finished(call)) << "web is not up any more";
  driver.set("n1", kWeb, InstanceState::Active);
  driver.advance(4s);
  EXPECT_TRUE(finished(call));
}

TEST_F(Runs, WhatANodeSaysWithoutBeingUnderstoodProvesNothing) {
  const CallId call = want_web();
  agent().answers = false;  // no heartbeats
  driver.advance(3s);
  agent().skip_a_revision();
  driver.report_changes("n1");
  EXPECT_FALSE(finished(call)) << "who knows what was in the report that is missing";
  driver.report_fully("n1");
  EXPECT_TRUE(finished(call));
}

TEST_F(Runs, AStatusTellsSinceWhen) {
  want_web();
  const Duration up = driver.now().time_since_epoch();
  driver.advance(60s);
  EXPECT_EQ(driver.controller().statuses().at(kWeb).since, up);
  driver.set("n1", kWeb, InstanceState::Failed, {"Exited", ""});
  EXPECT_EQ(driver.controller().statuses().at(kWeb).since, up + 60s);
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

TEST_F(Runs, ACallThatChangesNothingWaitsJustTheSame) {
  want_web();
  const CallId call = want_web();
  EXPECT_TRUE(driver.reply_to<Accepted>(call));
  EXPECT_FALSE(finished(call));
  driver.advance(2s);
  ASSERT_TRUE(finished(call));
  EXPECT_TRUE(finished(call)->statuses.at(0).proven);
  EXPECT_TRUE(finished(want_web())) << "it has been proven before";
  driver.set("n1", kWeb, InstanceState::Activating);
  EXPECT_FALSE(finished(driver.apply({a_service("web")}))) << "its item is enough";
  const CallId failed = want_web();
  driver.set("n1", kWeb, InstanceState::Failed, {"Exited", ""});
  EXPECT_EQ(finished(failed)->statuses.at(0).state, InstanceState::Failed);
}

TEST_F(Runs, AnotherCallersTimeoutChangesNothing) {
  agent().starts_slowly = true;
  const CallId first = want_web();
  driver.advance(300s);
  const CallId second = want_web();
  driver.advance(300s);
  EXPECT_TRUE(finished(first)->timed_out);
  EXPECT_FALSE(finished(second));
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
  driver.set("n1", kWeb, InstanceState::Active);
  driver.advance(2s);
  EXPECT_FALSE(finished(second)->timed_out);
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
  EXPECT_TRUE(finished(call)->statuses.at(0).away);
  EXPECT_FALSE(finished(call)->statuses.at(0).proven);
}

TEST_F(Runs, WhatANodeThatIsAwayHasIsToldButNotWaitedFor) {
  want_web();
  driver.advance(2s);
  driver.disconnect("n1");
  driver.advance(2s);
  const CallId call = want_web();
  ASSERT_TRUE(finished(call));
  EXPECT_TRUE(finished(call)->statuses.at(0).away);
  EXPECT_FALSE(finished(call)->statuses.at(0).proven) << "nobody can vouch for it";
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
  driver.advance(2s);
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

// --- What follows from a call

class Consequences : public testing::Test {
 protected:
  Consequences() {
    driver.join("n1");
    driver.join("n2");
  }

  // "move web/default/0 2 n2/crun from n1/crun: stopsFirst".
  static std::string in_words(const Consequence& one) {
    std::string words = std::string(to_string(one.kind)) + " " + model::to_string(one.key) + " " +
                        one.version + " " + model::to_string(*one.place);
    if (one.from) words += " from " + model::to_string(*one.from);
    return words + ": " + std::string(to_string(one.downtime));
  }

  std::vector<std::string> of(CallId call) const {
    const Accepted accepted = driver.reply_to<Accepted>(call).value();
    std::vector<std::string> all;
    for (const Consequence& one : accepted.consequences) all.push_back(in_words(one));
    return all;
  }

  using Words = std::vector<std::string>;
  Driver driver;
};

TEST_F(Consequences, AreStartsAndStops) {
  EXPECT_EQ(of(driver.apply({a_service("web"), a_deployment("d", {a_run("web").on("n1")})})),
            Words{"start web/default/0 1 n1/crun: none"});
  EXPECT_EQ(of(driver.apply({a_deployment("d", {a_run("web").on("n1")})})), Words{});
  EXPECT_EQ(of(driver.erase("Deployment", "d")), Words{"stop web/default/0 1 n1/crun: stops"});
}

TEST_F(Consequences, OfALabelAreMoves) {
  driver.apply({a_service("web"), labels_of("n1", {"zone=a"}),
                a_deployment("d", {a_run("web").label("zone=a")})});
  EXPECT_EQ(of(driver.apply({labels_of("n2", {"zone=a"}), labels_of("n1", {})})),
            Words{"move web/default/0 1 n2/crun from n1/crun: none"});
}

TEST_F(Consequences, OfANewVersionAreUpdatesOfAll) {
  driver.apply({a_service("web"), a_deployment("d", {a_run("web").times(2).on("n1")})});
  const CallId call =
      driver.apply({a_service("web").version("2"),
                    a_deployment("d", {a_run("web").version("2").times(2).on("n1")})});
  EXPECT_EQ(of(call), (Words{"update web/default/0 2 n1/crun: restarts",
                             "update web/default/1 2 n1/crun: restarts"}));
}

TEST_F(Consequences, OfAnEditAndOfAnOverrideAreRestarts) {
  driver.apply({a_service("web"), a_deployment("d", {a_run("web").on("n1")})});
  const Words restart{"restart web/default/0 1 n1/crun: restarts"};
  EXPECT_EQ(of(driver.apply({a_service("web").env("mode", "quiet")})), restart);
  driver.advance(4s);
  const model::EnvOverride list{.name = "o", .entries = {{.variables = {{"a", "b", {}}}}}};
  EXPECT_EQ(of(driver.apply({list})), restart);
  EXPECT_EQ(of(driver.apply({list})), Words{}) << "nothing changes";
  EXPECT_EQ(of(driver.erase("EnvOverride", "o")), restart);
}

TEST_F(Consequences, OfASubjectThatGoesAreStops) {
  driver.apply({a_service("web"), a_deployment("d", {a_run("web").subject("bob").on("n1")})});
  EXPECT_EQ(of(driver.apply({model::Subject{.id = model::SubjectId("bob"), .present = false}})),
            Words{"stop web/bob/0 1 n1/crun: stops"});
}

TEST_F(Consequences, SayThatTheDisplacedStopFirst) {
  driver.apply({a_service("low").cpu(600), a_deployment("l", {a_run("low")})});
  const std::string before = driver.place_of(key_of("low"));
  const std::string after = before == "n1/crun" ? "n2/crun" : "n1/crun";
  const CallId call =
      driver.apply({a_service("high").cpu(600),
                    a_deployment("h", {a_run("high").priority(5).on(before.substr(0, 2))})});
  EXPECT_EQ(of(call),
            (Words{"start high/default/0 1 " + before + ": none",
                   "move low/default/0 1 " + after + " from " + before + ": stopsFirst"}));
}

}  // namespace
}  // namespace berth::control
