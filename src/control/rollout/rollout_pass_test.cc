#include <gtest/gtest.h>

#include "control/testing.h"
#include "model/override.h"

namespace berth::control {
namespace {

using model::InstanceState;

// Three instances of version 1 on one node.
class Rollouts : public testing::Test {
 protected:
  Rollouts() {
    driver.join("n1");
    driver.apply({a_service("web"), a_deployment("d", {a_run("web").times(3)})});
  }

  static model::InstanceKey web(std::uint32_t index) { return key_of("web", index); }
  CallId update(bool allow_partial = false) {
    return driver.apply(
        {a_service("web").version("2"), a_deployment("d", {a_run("web").times(3).version("2")})},
        {}, allow_partial);
  }
  std::optional<Finished> finished(CallId call) const { return driver.reply_to<Finished>(call); }
  FakeAgent& agent() { return driver.agent("n1"); }
  // The versions that run, in the order of the indices.
  std::string versions() {
    std::string text;
    for (const auto& [key, status] : agent().statuses) text += status.version;
    return text;
  }

  Driver driver;
};

TEST_F(Rollouts, AreInstanceByInstance) {
  agent().starts_slowly = true;
  update();
  EXPECT_EQ(versions(), "211");
  driver.set("n1", web(0), InstanceState::Active);
  EXPECT_EQ(versions(), "221");
  driver.set("n1", web(1), InstanceState::Active);
  EXPECT_EQ(versions(), "222");
  EXPECT_TRUE(driver.noted(NoteKind::Updated, "instance/web/default/2"));
}

TEST_F(Rollouts, TakeNoLongerThanTheStartsOfTheInstances) {
  const CallId call = update();
  EXPECT_EQ(versions(), "222") << "in the very same moment, where starts take no time";
  EXPECT_FALSE(finished(call)) << "without health checks they are watched for a while";
  driver.advance(2s);
  ASSERT_TRUE(finished(call));
  EXPECT_EQ(finished(call)->statuses.size(), 3u);
  EXPECT_TRUE(finished(call)->rolled_back.empty());
  EXPECT_TRUE(driver.durable().rollouts.empty());
  EXPECT_TRUE(driver.noted(NoteKind::RolloutDone, "request/web/default"));
}

TEST_F(Rollouts, TheTimeThatAnImageTakesToGetThereDoesNotCount) {
  agent().starts_slowly = true;
  update();
  driver.set("n1", web(0), InstanceState::Activating,
             {"Pulling", "it is being fetched", model::Hindrance::BeingFetched});
  driver.advance(10min);
  EXPECT_EQ(versions(), "211");
  driver.set("n1", web(0), InstanceState::Activating);
  driver.advance(299s);
  EXPECT_EQ(versions(), "211");
  driver.advance(2s);
  EXPECT_EQ(versions(), "111");
}

TEST_F(Rollouts, AFailureTakesTheWholeRequestBackAndIsReported) {
  agent().starts_slowly = true;
  const CallId call = update();
  driver.set("n1", web(0), InstanceState::Active);
  agent().starts_slowly = false;
  driver.set("n1", web(1), InstanceState::Failed, {"Unhealthy", "no answer"});
  EXPECT_EQ(versions(), "111");
  EXPECT_EQ(driver.status_of(web(0)), "active(RolledBack)");
  EXPECT_TRUE(driver.noted(NoteKind::RolloutFailed, "instance/web/default/1"));
  EXPECT_FALSE(finished(call)) << "what went back must show that it is well";
  driver.advance(2s);
  ASSERT_TRUE(finished(call));
  ASSERT_EQ(finished(call)->rolled_back.size(), 1u);
  EXPECT_EQ(finished(call)->rolled_back[0].failed->message,
            "web/default/1 did not come up in version 2: no answer");
  EXPECT_EQ(finished(call)->statuses.size(), 3u);
  EXPECT_EQ(finished(call)->statuses.at(2).problem.reason, "RolledBack");
}

TEST_F(Rollouts, ACrashRightAfterTheStartIsAFailureToo) {
  update();
  agent().statuses.at(web(1)).restarts = 1;
  driver.set("n1", web(1), InstanceState::Active);
  EXPECT_EQ(versions(), "111");
}

TEST_F(Rollouts, ACrashLaterIsNot) {
  update();
  driver.advance(2s);
  driver.set("n1", web(1), InstanceState::Failed, {"Exited", "late"});
  EXPECT_EQ(versions(), "222");
}

TEST_F(Rollouts, WhatIsNotActiveInTimeHasFailedExactlyThen) {
  agent().starts_slowly = true;
  const CallId call = update();
  driver.advance(300s - 1us);
  EXPECT_EQ(versions(), "211");
  agent().starts_slowly = false;
  driver.advance(1us);
  EXPECT_EQ(versions(), "111");
  driver.advance(2s);
  EXPECT_EQ(finished(call)->rolled_back.at(0).failed->reason, "NotActiveInTime");
}

TEST_F(Rollouts, WhatHasNoRoomInTheNewVersionIsNotEvenStopped) {
  const CallId call = driver.apply({a_service("web").version("2").cpu(5000),
                                    a_deployment("d", {a_run("web").times(3).version("2")})});
  EXPECT_EQ(versions(), "111");
  EXPECT_EQ(agent().starts.at(web(0)), 1);
  driver.advance(2s);
  EXPECT_EQ(finished(call)->rolled_back.at(0).failed->reason, "InsufficientCpu");
}

TEST_F(Rollouts, AllowPartialKeepsWhatWorks) {
  agent().starts_slowly = true;
  const CallId call = update(true);
  driver.set("n1", web(0), InstanceState::Active);
  agent().starts_slowly = false;
  driver.set("n1", web(1), InstanceState::Failed, {"Unhealthy", "no answer"});
  EXPECT_EQ(versions(), "212");
  driver.advance(2s);
  EXPECT_EQ(finished(call)->rolled_back.at(0).kept_back, std::set<std::uint32_t>{1});
  EXPECT_EQ(driver.status_of(web(0)), "active");
  EXPECT_EQ(driver.status_of(web(1)), "active(RolledBack)");
}

TEST_F(Rollouts, AskingAgainIsTryingAgain) {
  agent().broken_versions = {"2"};
  update();
  ASSERT_EQ(versions(), "111");
  driver.heartbeat("n1");
  EXPECT_EQ(versions(), "111");
  agent().broken_versions.clear();
  update();
  EXPECT_EQ(versions(), "222");
  EXPECT_EQ(driver.status_of(web(0)), "active");
}

TEST_F(Rollouts, ACorrectedItemIsTriedAgain) {
  agent().broken_versions = {"2"};
  update();
  agent().broken_versions.clear();
  driver.apply({a_service("web").version("2").env("mode", "well")});
  EXPECT_EQ(versions(), "222");
}

TEST_F(Rollouts, ANewRequestSupersedesAndGoesBackToWhatAllRanLast) {
  agent().starts_slowly = true;
  update();
  driver.set("n1", web(0), InstanceState::Active);
  driver.apply(
      {a_service("web").version("3"), a_deployment("d", {a_run("web").times(3).version("3")})});
  EXPECT_EQ(versions(), "321");
  driver.set("n1", web(0), InstanceState::Failed, {"Exited", ""});
  EXPECT_EQ(versions(), "111");
}

TEST_F(Rollouts, GoingBackByHandIsPossibleAtAnyTime) {
  agent().starts_slowly = true;
  update();
  driver.set("n1", web(0), InstanceState::Active);
  agent().starts_slowly = false;
  driver.apply({a_deployment("d", {a_run("web").times(3).version("1")})});
  EXPECT_EQ(versions(), "111");
  driver.advance(2s);
  EXPECT_TRUE(driver.durable().rollouts.empty());
  EXPECT_EQ(driver.status_of(web(0)), "active");
}

TEST_F(Rollouts, GoOnAfterARestartOfTheController) {
  agent().starts_slowly = true;
  update();
  driver.set("n1", web(0), InstanceState::Active);
  driver.restart();
  driver.connect("n1");
  EXPECT_EQ(versions(), "221");
  driver.set("n1", web(1), InstanceState::Failed, {"Exited", ""});
  EXPECT_EQ(versions(), "111");
}

TEST_F(Rollouts, AFailureIsRememberedOverARestart) {
  agent().broken_versions = {"2"};
  update();
  driver.restart();
  driver.connect("n1");
  EXPECT_EQ(versions(), "111");
  EXPECT_EQ(driver.status_of(web(0)), "active(RolledBack)");
}

TEST_F(Rollouts, DoNotWaitForNodesThatAreAwayButUpdateThemWhenTheyAreBack) {
  driver.join("n2");
  driver.apply({a_deployment("d", {a_run("web").times(3), a_run("db").on("n2")}), a_service("db")});
  driver.disconnect("n2");
  driver.advance(2s);
  const CallId call =
      driver.apply({a_service("db").version("2"),
                    a_deployment("d", {a_run("web").times(3), a_run("db").version("2").on("n2")})});
  ASSERT_TRUE(finished(call));
  ASSERT_EQ(finished(call)->incomplete.size(), 1u);
  EXPECT_EQ(finished(call)->incomplete[0].updated, 0u);
  EXPECT_EQ(finished(call)->incomplete[0].total, 1u);
  EXPECT_EQ(finished(call)->incomplete[0].away, std::set{node_id("n2")});
  EXPECT_EQ(driver.agent("n2").statuses.at(key_of("db")).version, "1");
  driver.connect("n2");
  EXPECT_EQ(driver.agent("n2").statuses.at(key_of("db")).version, "2");
}

TEST_F(Rollouts, WhoIsOvertakenByAnotherCallHearsByWhichRevision) {
  agent().starts_slowly = true;
  const CallId first = update();
  EXPECT_FALSE(finished(first));
  const CallId second = driver.apply(
      {a_service("web").version("3"), a_deployment("d", {a_run("web").times(3).version("3")})});
  ASSERT_TRUE(finished(first));
  EXPECT_FALSE(finished(first)->timed_out);
  EXPECT_EQ(finished(first)->superseded_by, driver.reply_to<Accepted>(second)->revision);
}

TEST_F(Rollouts, WhatHasBeenProvenIsNotTriedAgainAlsoAfterARestartOfTheController) {
  driver.join("n2");
  driver.apply({a_service("web").cpu(300), a_deployment("d", {a_run("web").times(4)})});
  ASSERT_TRUE(driver.runs("n2", web(3)));
  driver.disconnect("n2");
  driver.advance(3s);
  driver.apply({a_service("web").version("2").cpu(300),
                a_deployment("d", {a_run("web").times(4).version("2")})});
  driver.advance(3s);
  ASSERT_EQ(versions(), "222");
  driver.restart();
  driver.connect("n1");
  driver.advance(6s);
  driver.set("n1", web(0), InstanceState::Failed, {"Exited", "late"});
  EXPECT_EQ(versions(), "222");
  EXPECT_FALSE(driver.durable().rollouts.begin()->second.failed);
}

TEST_F(Rollouts, AComponentMayTakeAsLongAsItsInstallerMay) {
  driver.join("n2", a_node().with_firmware());
  driver.apply({a_component("fw"), a_deployment("e", {a_run("fw")})});
  ASSERT_EQ(driver.status_of(key_of("fw")), "active");
  driver.agent("n2").starts_slowly = true;
  driver.apply({a_component("fw").version("2"), a_deployment("e", {a_run("fw").version("2")})});
  driver.advance(31min);
  driver.set("n2", key_of("fw"), InstanceState::Active);
  driver.advance(3s);
  EXPECT_EQ(driver.agent("n2").statuses.at(key_of("fw")).version, "2");
  EXPECT_TRUE(driver.durable().rollouts.empty());
}

// --- The same version, edited ------------------------------------------------------------------

class Edits : public Rollouts {
 protected:
  CallId edit(const std::string& value) {
    return driver.apply({a_service("web").env("COLOUR", value)});
  }
  // How often each was started, in the order of the indices.
  std::string starts() {
    std::string text;
    for (const auto& [key, count] : agent().starts) text += std::to_string(count);
    return text;
  }
};

TEST_F(Edits, RestartOneInstanceAfterTheOther) {
  agent().starts_slowly = true;
  const CallId call = edit("blue");
  EXPECT_EQ(starts(), "211");
  driver.set("n1", web(0), InstanceState::Active);
  EXPECT_EQ(starts(), "221");
  agent().starts_slowly = false;
  driver.set("n1", web(1), InstanceState::Active);
  EXPECT_EQ(starts(), "222");
  EXPECT_FALSE(finished(call));
  driver.advance(2s);
  EXPECT_TRUE(finished(call));
  EXPECT_TRUE(driver.durable().rollouts.empty());
}

TEST_F(Edits, StopAtTheFirstFailureAndTheOthersKeepRunningWhatTheyHave) {
  agent().starts_slowly = true;
  const CallId call = edit("blue");
  driver.set("n1", web(0), InstanceState::Failed, {"Crashed", "no such colour"});
  EXPECT_EQ(starts(), "211");
  EXPECT_EQ(driver.status_of(web(1)), "active(NotRestarted)");
  driver.advance(2s);
  ASSERT_TRUE(finished(call));
  EXPECT_EQ(finished(call)->rolled_back.at(0).failed->message,
            "web/default/0 did not come up in version 1 as edited: no such colour");
  driver.connect("n1");
  EXPECT_EQ(starts(), "211") << "a new stream restarts nobody";
  agent().starts_slowly = false;
  edit("green");
  driver.advance(2s);
  EXPECT_EQ(driver.status_of(web(0)), "active");
  EXPECT_EQ(agent().variables.at(web(2)).at("COLOUR"), "green");
}

TEST_F(Edits, ThatFailedLeaveTheOthersToBePausedAndToGetOtherVariables) {
  agent().starts_slowly = true;
  edit("blue");
  driver.set("n1", web(0), InstanceState::Failed, {"Crashed", "no such colour"});
  agent().starts_slowly = false;
  driver.pause(web(1));
  EXPECT_EQ(driver.status_of(web(1)), "paused(NotRestarted)");
  driver.connect("n1");
  EXPECT_EQ(driver.status_of(web(1)), "paused(NotRestarted)");
  driver.pause(web(1), model::Pausing::Running);
  EXPECT_EQ(driver.status_of(web(1)), "active(NotRestarted)");
  EXPECT_EQ(starts(), "211");
  model::EnvEntry entry;
  entry.index = 2;
  entry.variables = {{"LEVEL", "debug", {}}};
  driver.apply({model::EnvOverride{"debug", {entry}}});
  EXPECT_EQ(starts(), "212");
  EXPECT_EQ(agent().variables.at(web(2)), (std::map<std::string, std::string>{{"LEVEL", "debug"}}));
}

TEST_F(Edits, OfWhichNobodyKnowsWhatWasBeforeLeaveNothingToBePaused) {
  agent().starts_slowly = true;
  edit("blue");
  driver.set("n1", web(0), InstanceState::Failed, {"Crashed", "no such colour"});
  driver.restart();
  driver.connect("n1");
  const auto refused = driver.reply_to<Error>(driver.pause(web(1)));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->message,
            "web/default/1 runs what its item said before it was edited, which is not known any "
            "more: correct the item first");
}

TEST_F(Edits, GoOnAfterARestartOfTheController) {
  agent().starts_slowly = true;
  edit("blue");
  driver.restart();
  driver.connect("n1");
  EXPECT_EQ(starts(), "211");
  agent().starts_slowly = false;
  driver.set("n1", web(0), InstanceState::Active);
  driver.advance(10s);
  EXPECT_EQ(starts(), "222");
  EXPECT_TRUE(driver.durable().rollouts.empty());
}

TEST_F(Edits, RestartNobodyIfOnlyTheHealthCheckChanges) {
  model::Item item = a_service("web");
  item.health = model::HealthCheck{};
  driver.apply({item});
  EXPECT_EQ(starts(), "111");
  EXPECT_TRUE(driver.durable().rollouts.empty());
}

TEST_F(Edits, OfTheVersionThatWasGoneBackToRestartOneInstanceAfterTheOtherToo) {
  agent().broken_versions = {"2"};
  update();
  ASSERT_EQ(versions(), "111");
  const std::string before = starts();
  ASSERT_EQ(before, "311") << "the first went to version 2 and back";
  agent().starts_slowly = true;
  const CallId call = edit("blue");
  EXPECT_EQ(starts(), "411");
  driver.set("n1", web(0), InstanceState::Failed, {"Crashed", "no such colour"});
  EXPECT_EQ(starts(), "411");
  EXPECT_EQ(driver.status_of(web(0)), "failed(Crashed)");
  EXPECT_EQ(driver.status_of(web(1)), "active(NotRestarted)");
  driver.advance(2s);
  ASSERT_TRUE(finished(call));
  ASSERT_EQ(finished(call)->rolled_back.size(), 1u);
  EXPECT_EQ(finished(call)->rolled_back[0].to, "1");
  EXPECT_EQ(finished(call)->rolled_back[0].failed->message,
            "web/default/0 did not come up in version 1 as edited: no such colour");
}

TEST_F(Edits, OfTheVersionThatWasGoneBackToAreCorrectedLikeOthers) {
  agent().broken_versions = {"2"};
  update();
  agent().starts_slowly = true;
  edit("blue");
  driver.set("n1", web(0), InstanceState::Failed, {"Crashed", "no such colour"});
  driver.restart();
  driver.connect("n1");
  EXPECT_EQ(starts(), "411") << "a restart of the controller restarts nobody";
  EXPECT_EQ(driver.status_of(web(2)), "active(NotRestarted)");
  agent().starts_slowly = false;
  edit("green");
  driver.advance(2s);
  EXPECT_EQ(starts(), "522");
  EXPECT_EQ(driver.status_of(web(2)), "active(RolledBack)") << "version 2 is still asked for";
  EXPECT_EQ(agent().variables.at(web(2)).at("COLOUR"), "green");
}

TEST_F(Edits, TogetherWithANewVersionRestartNobodyBeforeItsTurnToBeUpdated) {
  agent().starts_slowly = true;
  driver.apply({a_service("web").env("COLOUR", "blue"), a_service("web").version("2"),
                a_deployment("d", {a_run("web").times(3).version("2")})});
  EXPECT_EQ(versions(), "211");
  EXPECT_EQ(starts(), "211");
  driver.set("n1", web(0), InstanceState::Active);
  EXPECT_EQ(starts(), "221");
  driver.restart();
  driver.connect("n1");
  EXPECT_EQ(starts(), "221");
  agent().starts_slowly = false;
  driver.set("n1", web(1), InstanceState::Active);
  driver.advance(4s);
  EXPECT_EQ(starts(), "222");
  EXPECT_EQ(versions(), "222");
  EXPECT_TRUE(driver.durable().rollouts.empty());
}

TEST_F(Edits, TogetherWithANewVersionThatFailsRestartTheOthersOneAfterTheOther) {
  agent().starts_slowly = true;
  driver.apply({a_service("web").env("COLOUR", "blue"), a_service("web").version("2"),
                a_deployment("d", {a_run("web").times(3).version("2")})});
  driver.set("n1", web(0), InstanceState::Failed, {"Crashed", ""});
  EXPECT_EQ(versions(), "111");
  EXPECT_EQ(starts(), "311") << "the others wait until it is back";
  driver.set("n1", web(0), InstanceState::Active);
  EXPECT_EQ(starts(), "321");
  driver.set("n1", web(1), InstanceState::Active);
  EXPECT_EQ(starts(), "322");
  agent().starts_slowly = false;
  driver.set("n1", web(2), InstanceState::Active);
  driver.advance(2s);
  EXPECT_EQ(driver.status_of(web(2)), "active(RolledBack)");
  EXPECT_EQ(agent().variables.at(web(2)).at("COLOUR"), "blue");
}

TEST_F(Edits, OfTheNewVersionRestartOneInstanceAfterTheOtherWhileANodeIsAwaited) {
  driver.join("n2");
  driver.apply({a_service("web").cpu(300), a_deployment("d", {a_run("web").times(4)})});
  driver.disconnect("n2");
  driver.advance(3s);
  driver.apply({a_service("web").version("2").cpu(300),
                a_deployment("d", {a_run("web").times(4).version("2")})});
  driver.advance(3s);
  ASSERT_EQ(versions(), "222");
  const std::string before = starts();
  agent().starts_slowly = true;
  driver.apply({a_service("web").version("2").cpu(300).env("COLOUR", "blue")});
  EXPECT_EQ(agent().statuses.at(web(0)).state, InstanceState::Activating);
  EXPECT_EQ(agent().statuses.at(web(1)).state, InstanceState::Active);
  EXPECT_EQ(agent().statuses.at(web(2)).state, InstanceState::Active);
}

TEST_F(Edits, ThatFailedAreNotTriedOnEverybodyAtOnceWhenSomebodyAsksAgain) {
  agent().starts_slowly = true;
  edit("blue");
  driver.set("n1", web(0), InstanceState::Failed, {"Crashed", "no such colour"});
  const CallId call = driver.apply({a_deployment("d", {a_run("web").times(3)})});
  EXPECT_EQ(starts(), "211");
  driver.advance(2s);
  ASSERT_TRUE(finished(call));
  EXPECT_EQ(finished(call)->rolled_back.size(), 1u);
  driver.set("n1", web(0), InstanceState::Active);
  driver.apply({a_deployment("d", {a_run("web").times(3)})});
  EXPECT_EQ(starts(), "221") << "it has come up in the meantime";
}

TEST_F(Edits, OfAVersionThatWorksHereAndThereUpdateTheOthersToo) {
  agent().starts_slowly = true;
  update(true);
  driver.set("n1", web(0), InstanceState::Active);
  agent().starts_slowly = false;
  driver.set("n1", web(1), InstanceState::Failed, {"Unhealthy", "no answer"});
  driver.advance(2s);
  ASSERT_EQ(versions(), "212");
  driver.apply({a_service("web").version("2").env("mode", "well")});
  driver.advance(2s);
  EXPECT_EQ(versions(), "222");
  EXPECT_TRUE(driver.durable().rollouts.empty());
}

TEST_F(Edits, OfTheOldVersionRestartThoseThatWereKeptBack) {
  agent().starts_slowly = true;
  update(true);
  driver.set("n1", web(0), InstanceState::Active);
  agent().starts_slowly = false;
  driver.set("n1", web(1), InstanceState::Failed, {"Unhealthy", "no answer"});
  driver.advance(2s);
  const std::string before = starts();
  ASSERT_EQ(before, "232");
  edit("blue");
  driver.advance(2s);
  EXPECT_EQ(starts(), "242");
  EXPECT_EQ(driver.status_of(web(1)), "active(RolledBack)");
}

TEST_F(Rollouts, MayBeAskedToKeepWhatWorksWhileTheyAreUnderWay) {
  agent().starts_slowly = true;
  update();
  update(true);
  driver.set("n1", web(0), InstanceState::Active);
  agent().starts_slowly = false;
  driver.set("n1", web(1), InstanceState::Failed, {"Unhealthy", "no answer"});
  EXPECT_EQ(versions(), "212");
}

TEST_F(Rollouts, AreNotProvenByANodeThatSaysNothingMore) {
  update();
  ASSERT_EQ(versions(), "222");
  agent().answers = false;
  driver.advance(3s);
  EXPECT_FALSE(driver.durable().rollouts.empty());
  EXPECT_TRUE(driver.durable().rollouts.begin()->second.proven.empty());
  driver.advance(10s);
  agent().answers = true;
  driver.connect("n1");
  EXPECT_FALSE(driver.durable().rollouts.empty()) << "the watch begins anew";
  driver.advance(4s);
  EXPECT_TRUE(driver.durable().rollouts.empty());
}

// Two nodes; the third instance is on the second.
class RolloutsOnTwoNodes : public Rollouts {
 protected:
  RolloutsOnTwoNodes() {
    driver.join("n2");
    driver.apply({a_service("db"), a_deployment("e", {a_run("db").times(2).on("n2")})});
  }
  static model::InstanceKey db(std::uint32_t index) { return key_of("db", index); }
  FakeAgent& other() { return driver.agent("n2"); }
};

TEST_F(RolloutsOnTwoNodes, AnOldFailureThatANodeComesBackWithIsNotOneOfTheCorrectedItem) {
  other().starts_slowly = true;
  driver.apply({a_service("db").version("2"),
                a_deployment("e", {a_run("db").times(2).version("2").on("n2")})});
  driver.disconnect("n2");
  driver.advance(3s);
  other().set(db(0), InstanceState::Failed, {"Crashed", "an old story"});
  driver.apply({a_service("db").version("2").env("mode", "well")});
  other().starts_slowly = false;
  driver.connect("n2");
  driver.advance(4s);
  EXPECT_EQ(other().statuses.at(db(0)).version, "2");
  EXPECT_EQ(other().statuses.at(db(1)).version, "2");
  EXPECT_EQ(driver.status_of(db(0)), "active");
  EXPECT_TRUE(driver.durable().rollouts.empty());
}

TEST_F(RolloutsOnTwoNodes, WhatWaitsForRoomIsNotLate) {
  driver.apply({a_service("big").cpu(600), a_deployment("f", {a_run("big").on("n2")})});
  other().stops_slowly = true;
  driver.apply({a_service("db").version("2").cpu(500), a_deployment("f", {}),
                a_deployment("e", {a_run("db").version("2").on("n2")})});
  ASSERT_EQ(driver.record(db(0)).version, "2");
  ASSERT_EQ(other().statuses.at(db(0)).version, "1") << "there is no room beside what stops";
  driver.advance(10min);
  EXPECT_FALSE(driver.durable().rollouts.begin()->second.failed);
  other().stops_slowly = false;
  other().drop(key_of("big"));
  other().starts_slowly = true;
  driver.report_changes("n2");
  EXPECT_EQ(other().statuses.at(db(0)).version, "2");
  driver.advance(299s);
  EXPECT_FALSE(driver.durable().rollouts.begin()->second.failed);
  driver.advance(2s);
  EXPECT_TRUE(driver.durable().rollouts.begin()->second.failed) << "its time began with the start";
}

TEST_F(Rollouts, TheOldVersionCannotBeDeletedWhileItMayBeNeeded) {
  update();
  ASSERT_EQ(versions(), "222");
  EXPECT_EQ(driver.reply_to<Error>(driver.erase("Item", "web@1"))->code, Code::Conflict);
  driver.advance(2s);
  EXPECT_TRUE(driver.reply_to<Accepted>(driver.erase("Item", "web@1")));
}

TEST_F(Rollouts, MoveNobodyElse) {
  driver.apply({a_service("db"), a_deployment("e", {a_run("db").times(2)})});
  agent().broken_versions = {"2"};
  update();
  EXPECT_EQ(agent().starts.at(key_of("db", 0)), 1);
  EXPECT_EQ(agent().starts.at(web(2)), 1) << "its turn never came";
}

TEST_F(Rollouts, ComponentsGoBackToo) {
  driver.join("n2", a_node().with_firmware());
  driver.apply({a_component("fw"), a_deployment("e", {a_run("fw").on_all_runtimes()})});
  driver.agent("n2").broken_versions = {"2"};
  driver.apply({a_component("fw").version("2"),
                a_deployment("e", {a_run("fw").on_all_runtimes().version("2")})});
  EXPECT_EQ(driver.agent("n2").statuses.at(key_of("fw")).version, "1");
  EXPECT_EQ(driver.status_of(key_of("fw")), "active(RolledBack)");
}

TEST_F(Rollouts, EndWithTheRequest) {
  agent().starts_slowly = true;
  update();
  driver.erase("Deployment", "d");
  EXPECT_TRUE(driver.durable().rollouts.empty());
}

}  // namespace
}  // namespace berth::control
