#include "control/id_pool.h"

#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

TEST(UserIds, WhatWasNeverUsedComesFirstThenWhatIsFreeForLongest) {
  State state(Durable{});
  const IdRange range{10, 12};
  EXPECT_EQ(take_uid(state, range), 10u);
  EXPECT_EQ(take_uid(state, range), 11u);
  give_back_uid(state, 11);
  give_back_uid(state, 10);
  EXPECT_EQ(take_uid(state, range), 12u);
  EXPECT_EQ(take_uid(state, range), 11u);
  EXPECT_EQ(take_uid(state, range), 10u);
  EXPECT_EQ(take_uid(state, range), std::nullopt);
}

TEST(UserIds, TheOrderOfGivingBackSurvivesARestart) {
  State state(Durable{});
  const IdRange range{1, 3};
  for (int i = 0; i < 3; ++i) take_uid(state, range);
  for (const std::uint32_t uid : {2u, 3u, 1u}) give_back_uid(state, uid);
  State restored(state.durable());
  EXPECT_EQ(take_uid(restored, range), 2u);
  EXPECT_EQ(take_uid(restored, range), 3u);
}

TEST(GroupIds, AllInstancesOfAnItemShareOne) {
  State state(Durable{});
  const auto gid = gid_of(state, model::ItemId{"web"}, {5, 6});
  EXPECT_EQ(gid, 5u);
  EXPECT_EQ(gid_of(state, model::ItemId{"web"}, {5, 6}), gid);
  EXPECT_EQ(gid_of(state, model::ItemId{"db"}, {5, 6}), 6u);
  EXPECT_EQ(gid_of(state, model::ItemId{"third"}, {5, 6}), std::nullopt);
}

class Ids : public testing::Test {
 protected:
  Ids() { driver.join("n1"); }

  static Config few_ids() {
    Config config;
    config.uids = {100, 101};
    return config;
  }

  Driver driver{few_ids()};
};

TEST_F(Ids, AreTheSameInAllVersionsAndAfterARestart) {
  driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  const model::InstanceRecord before = driver.record(kWeb);
  driver.apply({a_service("web").version("2"), a_deployment("d", {a_run("web").version("2")})});
  driver.restart();
  driver.connect("n1");
  EXPECT_EQ(driver.record(kWeb).uid, before.uid);
  EXPECT_EQ(driver.record(kWeb).gid, before.gid);
  EXPECT_EQ(driver.commands_to("n1").at(0).run.at(0).uid, before.uid);
}

TEST_F(Ids, AreKeptForACachedInstanceThatIsAskedForAgain) {
  driver.apply({a_service("web"), a_service("db"), a_deployment("d", {a_run("web")})});
  const std::uint32_t uid = driver.record(kWeb).uid;
  driver.erase("Deployment", "d");
  driver.apply({a_deployment("e", {a_run("db")})});
  driver.apply({a_deployment("d", {a_run("web")})});
  EXPECT_EQ(driver.record(kWeb).uid, uid);
  EXPECT_NE(driver.record(key_of("db")).uid, uid);
}

TEST_F(Ids, WhenNoneIsFreeTheInstanceSaysSo) {
  const CallId call = driver.apply({a_service("web"), a_deployment("d", {a_run("web").times(3)})});
  const model::InstanceKey third = key_of("web", 2);
  EXPECT_EQ(driver.status_of(third), "failed(NoFreeUserId)");
  EXPECT_EQ(driver.reply_to<Accepted>(call)->refused.at(third).reason, "NoFreeUserId");
  driver.advance(2s);
  EXPECT_EQ(driver.reply_to<Finished>(call)->statuses.size(), 3u);
  EXPECT_EQ(driver.status_of(key_of("web", 1)), "active");

  driver.advance(10s);
  EXPECT_TRUE(driver.is_idle()) << "it is said once";
  driver.apply({a_deployment("d", {a_run("web").times(2)})});
  EXPECT_EQ(driver.status_of(third), "");
}

}  // namespace
}  // namespace berth::control
