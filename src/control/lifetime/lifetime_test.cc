#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

using model::Phase;

// So that the tests need not live through months of heartbeats.
Config in_minutes() {
  Config config;
  config.cache_ttl = 30min;
  config.write_down_at_latest = 10min;
  return config;
}

class Cached : public testing::Test {
 protected:
  Cached() : driver(in_minutes()) {
    driver.join("n1");
    driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
    uid = driver.record(kWeb).uid;
  }

  void remove() { driver.erase("Deployment", "d"); }
  void ask_again() { driver.apply({a_deployment("d", {a_run("web")})}); }
  bool is_known() const { return driver.durable().instances.contains(kWeb); }
  FakeAgent& agent() { return driver.agent("n1"); }

  Driver driver;
  std::uint32_t uid = 0;
};

TEST_F(Cached, InstancesComeBackAsTheyWere) {
  remove();
  driver.advance(29min);
  ask_again();
  EXPECT_EQ(driver.record(kWeb).uid, uid);
  EXPECT_EQ(driver.record(kWeb).kept_for, Duration{});
  EXPECT_TRUE(agent().erased.empty());
  driver.advance(2min);
  EXPECT_TRUE(is_known());
}

TEST_F(Cached, InstancesComeBackToWhatTheyHaveStored) {
  model::Item with_storage = a_service("web");
  with_storage.quotas.storage = Bytes{1000};
  driver.apply({with_storage});
  driver.join("n2");
  remove();
  driver.apply({a_service("other").cpu(100), a_deployment("o", {a_run("other").on("n1")})});
  EXPECT_EQ(driver.record(kWeb).home, model::NodeId{"n1"});
  ask_again();
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun") << "n2 has more room";
  EXPECT_EQ(driver.record(kWeb).home, std::nullopt);
}

TEST_F(Cached, InstancesThatWereMovingComeBackToWhereTheirDataAre) {
  model::Item with_storage = a_service("web");
  with_storage.quotas.storage = Bytes{1000};
  driver.apply({with_storage});
  driver.join("n2");
  driver.agent("n2").starts_slowly = true;
  driver.drain("n1");
  ASSERT_EQ(driver.place_of(kWeb), "n2/crun");
  remove();
  EXPECT_EQ(driver.record(kWeb).home, model::NodeId{"n1"});
}

TEST_F(Cached, InstancesAreDeletedAfterTheirTime) {
  remove();
  driver.advance(30min - 1us);
  EXPECT_TRUE(is_known());
  driver.advance(1us);
  EXPECT_FALSE(is_known());
  EXPECT_TRUE(agent().erased.contains(kWeb));
  EXPECT_EQ(driver.durable().freed_uids.size(), 1u);
}

TEST_F(Cached, TimeIsWrittenDownRarely) {
  remove();
  std::size_t writes = 0;
  driver.advance(10min - 1us);
  for (const auto& [at, effects] : driver.steps()) writes += effects.writes.size();
  EXPECT_EQ(writes, 0u) << "an idle cluster writes nothing";
  driver.advance(1us);
  EXPECT_EQ(driver.record(kWeb).kept_for, 20min);
}

TEST_F(Cached, TimeGoesOnAfterARestart) {
  remove();
  driver.advance(10min);
  driver.restart();
  driver.connect("n1");
  driver.advance(20min);
  EXPECT_FALSE(is_known());
}

TEST_F(Cached, TimeWithoutAControlPlaneDoesNotCount) {
  remove();
  driver.advance(5min);
  driver.stop();
  driver.restart(24h);
  driver.connect("n1");
  EXPECT_EQ(driver.record(kWeb).kept_for, 25min) << "written down when it was stopped";
  driver.advance(25min - 1us);
  EXPECT_TRUE(is_known());
  driver.advance(1us);
  EXPECT_FALSE(is_known());
}

TEST_F(Cached, AnIdIsTakenUntilTheDataAreGone) {
  remove();
  driver.disconnect("n1");
  driver.advance(31min);
  EXPECT_EQ(driver.record(kWeb).phase, Phase::Erasing);
  EXPECT_TRUE(driver.durable().freed_uids.empty());
  driver.connect("n1");
  EXPECT_TRUE(agent().erased.contains(kWeb));
  EXPECT_FALSE(is_known());
}

TEST_F(Cached, AnAgentThatTakesItsTimeIsWaitedFor) {
  remove();
  agent().answers = false;
  driver.erase("Instance", "web/default/0");
  ASSERT_EQ(driver.commands_to("n1").at(0).erase, std::vector{kWeb});
  model::ReportedStatus busy;
  busy.key = kWeb;
  busy.stopping = true;
  agent().statuses.emplace(kWeb, busy);
  agent().set(kWeb, model::InstanceState::Inactive);
  driver.report("n1", agent().answer(driver.commands_to("n1").at(0)));
  driver.report_fully("n1");
  EXPECT_TRUE(is_known());
  agent().drop(kWeb);
  driver.report_changes("n1");
  EXPECT_FALSE(is_known());
}

TEST_F(Cached, ANodeThatIsForgottenIsNotWaitedFor) {
  remove();
  driver.disconnect("n1");
  driver.advance(31min);
  driver.forget("n1");
  EXPECT_FALSE(is_known());
  EXPECT_EQ(driver.durable().freed_uids.size(), 1u);
}

TEST_F(Cached, DataAreErasedWhereverTheyWereLeft) {
  driver.join("n2");
  driver.apply({a_deployment("d", {a_run("web").on("n2")})});
  remove();
  driver.erase("Instance", "web/default/0");
  EXPECT_TRUE(agent().erased.contains(kWeb));
  EXPECT_TRUE(driver.agent("n2").erased.contains(kWeb));
}

TEST_F(Cached, DeletingAnOldVersionNeverTouchesTheDataOfANewerOne) {
  driver.apply({a_service("web").version("2"), a_deployment("d", {a_run("web").version("2")})});
  driver.advance(2s);
  driver.erase("Item", "web@1");
  driver.advance(31min);
  EXPECT_EQ(driver.record(kWeb).uid, uid);
  EXPECT_TRUE(agent().erased.empty());
}

TEST_F(Cached, WhatIsAskedForCannotBeDeleted) {
  const auto error = driver.reply_to<Error>(driver.erase("Instance", "web/default/0"));
  EXPECT_EQ(error->code, Code::Conflict);
  EXPECT_EQ(driver.reply_to<Error>(driver.erase("Instance", "nobody/default/0"))->code,
            Code::NotFound);
}

TEST_F(Cached, WhatIsAskedForAgainWhileItIsErasedBeginsAnew) {
  remove();
  agent().answers = false;
  driver.erase("Instance", "web/default/0");
  const model::Command erase = driver.commands_to("n1").at(0);
  ask_again();
  EXPECT_EQ(driver.status_of(kWeb), "failed(BeingErased)");
  agent().answers = true;
  driver.report("n1", agent().answer(erase));
  EXPECT_EQ(driver.status_of(kWeb), "active");
  EXPECT_NE(driver.record(kWeb).uid, uid);
}

// A disk that has lost what it acknowledged brings back what was said before the erasure.
TEST_F(Cached, TheLastWordOfWhatWasErasedIsNotTheStateOfItsSuccessor) {
  remove();
  const model::CommandNumber before = agent().acted;
  driver.erase("Instance", "web/default/0");
  ask_again();
  ASSERT_EQ(driver.status_of(kWeb), "active");
  driver.disconnect("n1");
  agent().acted = before;
  agent().drop(kWeb);
  agent().save(kWeb, "erased");
  driver.connect("n1");
  EXPECT_FALSE(driver.durable().states.contains(kWeb));
  EXPECT_EQ(agent().heard[kWeb], "of-erased") << "so that it is not said again";
  agent().save(kWeb, "new");
  driver.report_changes("n1");
  EXPECT_EQ(driver.durable().states.at(kWeb).state.content, "new");
}

TEST_F(Cached, WhatIsAskedForAgainWhileItIsErasedTellsWhereThatIsNotDone) {
  driver.join("n2");
  driver.apply({a_deployment("d", {a_run("web").on("n2")})});
  remove();
  agent().answers = false;
  driver.agent("n2").answers = false;
  driver.erase("Instance", "web/default/0");
  const model::Command erase = driver.commands_to("n1").at(0);
  ask_again();
  const auto message = [this] { return driver.controller().statuses().at(kWeb).problem.message; };
  EXPECT_EQ(message(), "its old data are being erased on n1, n2");
  driver.report("n1", agent().answer(erase));
  EXPECT_EQ(message(), "its old data are being erased on n2");
}

// --- Subjects ----------------------------------------------------------------------------------

class Subjects : public Cached {
 protected:
  void set_present(bool present) {
    driver.apply({model::Subject{.id = model::SubjectId{"default"}, .present = present}});
  }
};

TEST_F(Subjects, ThatAreGoneLeaveInactiveInstancesThatHoldNothing) {
  set_present(false);
  EXPECT_EQ(driver.status_of(kWeb), "inactive(SubjectAbsent)");
  EXPECT_FALSE(driver.runs("n1", kWeb));
  EXPECT_EQ(driver.place_of(kWeb), "");
  EXPECT_EQ(driver.record(kWeb).uid, uid);
}

TEST_F(Subjects, BringTheirInstancesBackAsTheyWereAfterAnyTime) {
  set_present(false);
  driver.advance(100min);
  set_present(true);
  EXPECT_EQ(driver.status_of(kWeb), "active");
  EXPECT_EQ(driver.record(kWeb).uid, uid);
}

TEST_F(Subjects, ArePresentWhenNobodySpeaksOfThemAnyMore) {
  set_present(false);
  driver.erase("Subject", "default");
  EXPECT_EQ(driver.status_of(kWeb), "active");
}

TEST_F(Subjects, ThatAreGoneDoNotKeepWhatNobodyAsksFor) {
  set_present(false);
  remove();
  EXPECT_EQ(driver.record(kWeb).phase, Phase::Cached);
  driver.advance(31min);
  EXPECT_FALSE(is_known());
}

}  // namespace
}  // namespace berth::control
