#include "control/rollout/testing.h"

namespace berth::control {
namespace {

TEST_F(RolloutsTest, AreInstanceByInstance) {
  agent().starts_slowly = true;
  update();
  EXPECT_EQ(versions(), "211");
  driver.set("n1", web(0), InstanceState::Active);
  EXPECT_EQ(versions(), "221");
  driver.set("n1", web(1), InstanceState::Active);
  EXPECT_EQ(versions(), "222");
  EXPECT_TRUE(driver.noted(NoteKind::Updated, "instance/web/default/2"));
}

TEST_F(RolloutsTest, TakeNoLongerThanTheStartsOfTheInstances) {
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

TEST_F(RolloutsTest, TheTimeThatAnImageTakesToGetThereDoesNotCount) {
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

TEST_F(RolloutsTest, AFailureTakesTheWholeRequestBackAndIsReported) {
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

TEST_F(RolloutsTest, ACrashRightAfterTheStartIsAFailureToo) {
  update();
  agent().statuses.at(web(1)).restarts = 1;
  driver.set("n1", web(1), InstanceState::Active);
  EXPECT_EQ(versions(), "111");
}

TEST_F(RolloutsTest, ACrashLaterIsNot) {
  update();
  driver.advance(2s);
  driver.set("n1", web(1), InstanceState::Failed, {"Exited", "late"});
  EXPECT_EQ(versions(), "222");
}

TEST_F(RolloutsTest, WhatIsNotActiveInTimeHasFailedExactlyThen) {
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

TEST_F(RolloutsTest, WhatHasNoRoomInTheNewVersionIsNotEvenStopped) {
  const CallId call = driver.apply({a_service("web").version("2").cpu(5000),
                                    a_deployment("d", {a_run("web").times(3).version("2")})});
  EXPECT_EQ(versions(), "111");
  EXPECT_EQ(agent().starts.at(web(0)), 1);
  driver.advance(2s);
  EXPECT_EQ(finished(call)->rolled_back.at(0).failed->reason, "InsufficientCpu");
}

TEST_F(RolloutsTest, AllowPartialKeepsWhatWorks) {
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

TEST_F(RolloutsTest, AskingAgainIsTryingAgain) {
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

TEST_F(RolloutsTest, ACorrectedItemIsTriedAgain) {
  agent().broken_versions = {"2"};
  update();
  agent().broken_versions.clear();
  driver.apply({a_service("web").version("2").env("mode", "well")});
  EXPECT_EQ(versions(), "222");
}

TEST_F(RolloutsTest, ANewRequestSupersedesAndGoesBackToWhatAllRanLast) {
  agent().starts_slowly = true;
  update();
  driver.set("n1", web(0), InstanceState::Active);
  driver.apply(
      {a_service("web").version("3"), a_deployment("d", {a_run("web").times(3).version("3")})});
  EXPECT_EQ(versions(), "321");
  driver.set("n1", web(0), InstanceState::Failed, {"Exited", ""});
  EXPECT_EQ(versions(), "111");
}

TEST_F(RolloutsTest, GoingBackByHandIsPossibleAtAnyTime) {
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

TEST_F(RolloutsTest, GoOnAfterARestartOfTheController) {
  agent().starts_slowly = true;
  update();
  driver.set("n1", web(0), InstanceState::Active);
  driver.restart();
  driver.connect("n1");
  EXPECT_EQ(versions(), "221");
  driver.set("n1", web(1), InstanceState::Failed, {"Exited", ""});
  EXPECT_EQ(versions(), "111");
}

TEST_F(RolloutsTest, AFailureIsRememberedOverARestart) {
  agent().broken_versions = {"2"};
  update();
  driver.restart();
  driver.connect("n1");
  EXPECT_EQ(versions(), "111");
  EXPECT_EQ(driver.status_of(web(0)), "active(RolledBack)");
}

TEST_F(RolloutsTest, DoNotWaitForNodesThatAreAwayButUpdateThemWhenTheyAreBack) {
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

TEST_F(RolloutsTest, WhoIsOvertakenByAnotherCallHearsByWhichRevision) {
  agent().starts_slowly = true;
  const CallId first = update();
  EXPECT_FALSE(finished(first));
  const CallId second = driver.apply(
      {a_service("web").version("3"), a_deployment("d", {a_run("web").times(3).version("3")})});
  ASSERT_TRUE(finished(first));
  EXPECT_FALSE(finished(first)->timed_out);
  EXPECT_EQ(finished(first)->superseded_by, driver.reply_to<Accepted>(second)->revision);
}

TEST_F(RolloutsTest, WhatHasBeenProvenIsNotTriedAgainAlsoAfterARestartOfTheController) {
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

TEST_F(RolloutsTest, AComponentMayTakeAsLongAsItsInstallerMay) {
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

TEST_F(RolloutsTest, MayBeAskedToKeepWhatWorksWhileTheyAreUnderWay) {
  agent().starts_slowly = true;
  update();
  update(true);
  driver.set("n1", web(0), InstanceState::Active);
  agent().starts_slowly = false;
  driver.set("n1", web(1), InstanceState::Failed, {"Unhealthy", "no answer"});
  EXPECT_EQ(versions(), "212");
}

TEST_F(RolloutsTest, AreNotProvenByANodeThatSaysNothingMore) {
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
class RolloutsOnTwoNodes : public RolloutsTest {
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

TEST_F(RolloutsTest, TheOldVersionCannotBeDeletedWhileItMayBeNeeded) {
  update();
  ASSERT_EQ(versions(), "222");
  EXPECT_EQ(driver.reply_to<Error>(driver.erase("Item", "web@1"))->code, Code::Conflict);
  driver.advance(2s);
  EXPECT_TRUE(driver.reply_to<Accepted>(driver.erase("Item", "web@1")));
}

TEST_F(RolloutsTest, MoveNobodyElse) {
  driver.apply({a_service("db"), a_deployment("e", {a_run("db").times(2)})});
  agent().broken_versions = {"2"};
  update();
  EXPECT_EQ(agent().starts.at(key_of("db", 0)), 1);
  EXPECT_EQ(agent().starts.at(web(2)), 1) << "its turn never came";
}

TEST_F(RolloutsTest, ComponentsGoBackToo) {
  driver.join("n2", a_node().with_firmware());
  driver.apply({a_component("fw"), a_deployment("e", {a_run("fw").on_all_runtimes()})});
  driver.agent("n2").broken_versions = {"2"};
  driver.apply({a_component("fw").version("2"),
                a_deployment("e", {a_run("fw").on_all_runtimes().version("2")})});
  EXPECT_EQ(driver.agent("n2").statuses.at(key_of("fw")).version, "1");
  EXPECT_EQ(driver.status_of(key_of("fw")), "active(RolledBack)");
}

TEST_F(RolloutsTest, EndWithTheRequest) {
  agent().starts_slowly = true;
  update();
  driver.erase("Deployment", "d");
  EXPECT_TRUE(driver.durable().rollouts.empty());
}

}  // namespace
}  // namespace berth::control
