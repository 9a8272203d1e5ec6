#include "control/controller.h"

#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

using model::InstanceState;

class Cluster : public testing::Test {
 protected:
  Cluster() {
    driver.join("n1");
    driver.join("n2");
    driver.apply({a_service("web").cpu(100), a_deployment("d", {a_run("web").times(4)})});
  }

  Driver driver;
};

TEST_F(Cluster, NothingHappensInAnIdleOne) {
  driver.advance(2s);  // until all is proven to be well
  driver.advance(3600s);
  EXPECT_TRUE(driver.is_idle());
}

TEST_F(Cluster, UsageThatNobodyWaitsForIsNoEvent) {
  driver.agent("n1").usage = model::Usage{Dmips{300}, Bytes{}};
  driver.heartbeat("n1");
  EXPECT_TRUE(driver.is_idle());
}

TEST_F(Cluster, AStatusReachesListenersOnceAndIsNotWritten) {
  driver.set("n1", driver.agent("n1").statuses.begin()->first, InstanceState::Failed,
             {"Crashed", ""});
  EXPECT_EQ(driver.effects().changes.size(), 1u);
  EXPECT_TRUE(driver.effects().writes.empty() && driver.effects().commands.empty());
  driver.report_fully("n1");
  EXPECT_TRUE(driver.effects().changes.empty());
}

TEST_F(Cluster, ACompleteListTellsListenersOnlyOfWhatChanged) {
  const model::InstanceKey key = driver.agent("n2").statuses.begin()->first;
  driver.agent("n2").set(key, InstanceState::Failed, {"Crashed", ""});
  driver.report_fully("n2");
  ASSERT_EQ(driver.effects().changes.size(), 1u);
  EXPECT_EQ(driver.effects().changes[0].key, key);
}

TEST_F(Cluster, ListenersAreKnownUntilTheyUnsubscribe) {
  driver.tell({Subscribed{7}, Subscribed{8}});
  driver.tell({Unsubscribed{7}});
  EXPECT_EQ(driver.controller().listeners(), std::set<ListenerId>{8});
}

TEST_F(Cluster, ListenersHearThatAnInstanceIsNoLongerAskedFor) {
  driver.erase("Deployment", "d");
  ASSERT_EQ(driver.first().changes.size(), 4u);
  EXPECT_EQ(driver.first().changes[0].state, InstanceState::Inactive);
  EXPECT_FALSE(driver.first().changes[0].place);
  EXPECT_TRUE(driver.controller().statuses().empty());
}

TEST_F(Cluster, AFigureInAReasonThatChangesIsNoNews) {
  driver.apply({a_service("big").cpu(5000), a_deployment("e", {a_run("big")})});
  driver.agent("n1").usage = model::Usage{Dmips{300}, Bytes{}};
  driver.heartbeat("n1");
  EXPECT_TRUE(driver.effects().notes.empty());
}

TEST_F(Cluster, AReportIsAppliedInTheStepThatBringsManyOthers) {
  FakeAgent& n1 = driver.agent("n1");
  FakeAgent& n2 = driver.agent("n2");
  const model::InstanceKey first = n1.statuses.begin()->first;
  const model::InstanceKey second = n2.statuses.begin()->first;
  n1.set(first, InstanceState::Failed, {"Crashed", ""});
  n2.set(second, InstanceState::Failed, {"Crashed", ""});
  driver.tell({NodeReported{node_id("n1"), driver.connection("n1"), n1.changes()},
               NodeReported{node_id("n2"), driver.connection("n2"), n2.changes()}});
  EXPECT_EQ(driver.status_of(first), "failed(Crashed)");
  EXPECT_EQ(driver.status_of(second), "failed(Crashed)");
}

TEST_F(Cluster, ARestartFindsEverythingAsItWas) {
  const Durable before = driver.durable();
  driver.restart();
  EXPECT_EQ(driver.durable(), before);
  driver.connect("n1");
  driver.connect("n2");
  Durable after = driver.durable();
  after.counters.revision = before.counters.revision;  // of the full commands
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace berth::control
