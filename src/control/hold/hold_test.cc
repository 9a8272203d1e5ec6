#include "control/hold/hold.h"

#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

// Two nodes that run two services; then the store is lost, or an older one is put in its place.
class LostStore : public testing::Test {
 protected:
  LostStore() : driver(a_life(), named("first")) {
    driver.join("n1");
    driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
    older = driver.durable();
    driver.join("n2");
    driver.apply({a_service("db"), a_deployment("e", {a_run("db").times(2)})});
    latest = driver.durable();
    for (const auto& [key, record] : latest.instances) {
      before[key] = {record.place->node.value(), starts_of(record.place->node.value(), key)};
    }
  }

  static Config a_life() {
    Config config;
    config.life = 1;
    return config;
  }

  static Durable named(const std::string& cluster) {
    Durable durable;
    durable.counters.cluster = cluster;
    return durable;
  }

  int starts_of(const std::string& node, const model::InstanceKey& key) {
    return driver.agent(node).starts[key];
  }

  void start_with(const Durable& disk) {
    driver.restart_with(disk);
    driver.connect("n1");
    driver.connect("n2");
  }

  bool is_held() const { return driver.controller().held().has_value(); }

  void expect_untouched() {
    for (const auto& [key, place] : before) {
      EXPECT_TRUE(driver.runs(place.first, key)) << model::to_string(key);
      EXPECT_EQ(starts_of(place.first, key), place.second) << model::to_string(key);
    }
  }

  Driver driver;
  Durable older;
  Durable latest;
  std::map<model::InstanceKey, std::pair<std::string, int>> before;
};

TEST_F(LostStore, AnOlderOneIsFoundOutThoughItHasCountedOnMeanwhile) {
  driver.restart_with(older);
  for (int i = 0; driver.durable().counters.revision <= latest.counters.revision; ++i) {
    driver.apply({a_service("other").version(std::to_string(i + 1))});
  }
  driver.connect("n1");
  driver.connect("n2");
  EXPECT_TRUE(is_held());
  EXPECT_NE(driver.controller().held()->find("but the store ends at"), std::string::npos);
  expect_untouched();
}

TEST_F(LostStore, ALifeThatTheStoreKnowsNothingOfIsFoundOut) {
  driver.restart();
  driver.connect("n1");
  driver.connect("n2");
  driver.apply({a_service("more"), a_deployment("m", {a_run("more")})});
  driver.restart_with(latest);
  for (int i = 0; i < 20; ++i) {
    driver.apply({a_service("other").version(std::to_string(i + 1))});
  }
  driver.connect("n1");
  driver.connect("n2");
  EXPECT_TRUE(is_held());
  EXPECT_NE(driver.controller().held()->find("does not know"), std::string::npos);
}

TEST_F(LostStore, ManyLivesAreNotKept) {
  for (std::size_t i = 0; i < 2 * Lives::kKeptMax; ++i) {
    driver.restart();
    driver.connect("n1");
    driver.connect("n2");
    driver.apply({a_service("s").version(std::to_string(i + 1)), a_deployment("m", {a_run("s")})});
  }
  EXPECT_EQ(driver.durable().lives.size(), Lives::kKeptMax);
  EXPECT_FALSE(is_held());
}

TEST_F(LostStore, TheSameStoreIsNotHeld) {
  start_with(latest);
  EXPECT_FALSE(is_held());
  expect_untouched();
}

TEST_F(LostStore, AnEmptyOneStopsNothing) {
  start_with(named("second"));
  EXPECT_TRUE(is_held());
  driver.advance(1h);
  expect_untouched();
}

TEST_F(LostStore, AnOlderOneStopsAndStartsNothing) {
  start_with(older);
  EXPECT_TRUE(is_held());
  EXPECT_NE(driver.controller().held()->find("the store ends at"), std::string::npos);
  driver.advance(1h);
  expect_untouched();
}

TEST_F(LostStore, IsSaidOnceAndHeldOverARestart) {
  driver.restart_with(older);
  driver.connect("n2");
  EXPECT_TRUE(driver.noted(NoteKind::Held));
  driver.connect("n1");
  EXPECT_FALSE(driver.noted(NoteKind::Held));
  driver.restart();
  EXPECT_TRUE(is_held());
}

// What is written down meanwhile must not look like the history that was lost.
TEST_F(LostStore, WritesOfTheHeldOneDoNotEndTheHold) {
  start_with(older);
  for (int i = 0; i < 50; ++i) driver.become("n1", a_node().cpu(1000 + i));
  driver.restart();
  driver.connect("n1");
  driver.connect("n2");
  EXPECT_TRUE(is_held());
  expect_untouched();
}

TEST_F(LostStore, ReadsAreServedAndChangesRefused) {
  start_with(older);
  EXPECT_EQ(driver.status_of(kWeb), "active");
  const CallId call = driver.apply({a_service("more"), a_deployment("f", {a_run("more")})});
  const auto refusal = driver.reply_to<Error>(call);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, Code::Conflict);
  EXPECT_NE(refusal->message.find("berth store adopt"), std::string::npos);
}

TEST_F(LostStore, TheRightStorePutBackGoesOnAsIfNothingHadBeen) {
  start_with(older);
  start_with(latest);
  EXPECT_FALSE(is_held());
  EXPECT_EQ(driver.status_of(key_of("db", 1)), "active");
  expect_untouched();
}

TEST_F(LostStore, AcceptedAsItIsItIsTheTruth) {
  start_with(older);
  EXPECT_TRUE(driver.reply_to<Accepted>(driver.release(Release::Accept)));
  EXPECT_FALSE(is_held());
  EXPECT_TRUE(driver.runs(before[kWeb].first, kWeb));
  EXPECT_EQ(starts_of(before[kWeb].first, kWeb), before[kWeb].second);
  EXPECT_FALSE(driver.runs(before[kDb].first, kDb)) << "nobody asks for it any more";
}

TEST_F(LostStore, AgentsObeyOneThatWasAccepted) {
  start_with(named("second"));
  driver.release(Release::Accept);
  driver.apply({a_service("new"), a_deployment("d", {a_run("new")})});
  EXPECT_EQ(driver.status_of(key_of("new")), "active");
  driver.restart();
  driver.connect("n1");
  driver.connect("n2");
  EXPECT_FALSE(is_held());
}

TEST_F(LostStore, WhoWasAwayWhenItWasAcceptedDoesNotHoldItAgain) {
  driver.restart_with(older);
  driver.connect("n2");
  driver.release(Release::Accept);
  driver.connect("n1");
  EXPECT_FALSE(is_held());
}

TEST_F(LostStore, AdoptedFromNothingEverythingRunsOn) {
  start_with(named("second"));
  EXPECT_TRUE(driver.reply_to<Accepted>(driver.release(Release::Adopt)));
  EXPECT_FALSE(is_held());
  driver.advance(1h);
  expect_untouched();
  for (const auto& [key, place] : before) {
    EXPECT_EQ(driver.status_of(key), "active");
    EXPECT_EQ(driver.record(key).uid, latest.instances.at(key).uid);
    EXPECT_EQ(driver.record(key).gid, latest.instances.at(key).gid);
  }
}

TEST_F(LostStore, AdoptedIntoAnOlderStoreEverythingRunsOn) {
  start_with(older);
  EXPECT_TRUE(driver.reply_to<Accepted>(driver.release(Release::Adopt)));
  driver.advance(1h);
  expect_untouched();
  EXPECT_EQ(driver.durable().deployments.at("d"), older.deployments.at("d"));
  EXPECT_EQ(driver.durable().deployments.at("adopted").run.at(0).instances, 2u);
}

TEST_F(LostStore, WhatWouldBeAdoptedCanBeSeenBefore) {
  start_with(named("second"));
  const auto requests = driver.controller().rebuilt_requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].item.item, model::ItemId("db"));
  EXPECT_EQ(requests[0].instances, 2u);
}

TEST_F(LostStore, AdoptingWaitsForTheWordOfWhoIsConnected) {
  driver.agent("n2").answers = false;
  start_with(named("second"));
  EXPECT_TRUE(driver.reply_to<Error>(driver.release(Release::Adopt)));
  EXPECT_TRUE(is_held());
}

TEST_F(LostStore, NobodyDecidesWhereNothingIsHeld) {
  EXPECT_TRUE(driver.reply_to<Error>(driver.release(Release::Accept)));
}

// Two that lie about the same user id and the same address do not stop the control plane.
TEST_F(LostStore, WhatCannotBeAdoptedAsToldIsGivenAnew) {
  driver.agent("n2").answers = false;
  start_with(named("second"));
  model::Report report = driver.agent("n2").full();
  model::InstanceSpec spec;
  spec.key = key_of("liar");
  spec.item = a_service("liar");
  spec.runtime = model::RuntimeId("crun");
  spec.uid = latest.instances.at(kWeb).uid;
  spec.gid = 1;
  spec.network = model::InstanceNetwork{model::OwnerId("nobody"), {42}};
  report.told = model::ToldOrders{{spec}, std::nullopt};
  driver.report("n2", report);
  EXPECT_TRUE(driver.reply_to<Accepted>(driver.release(Release::Adopt)));
  std::set<std::uint32_t> uids;
  for (const auto& [key, record] : driver.durable().instances) uids.insert(record.uid);
  EXPECT_EQ(uids.size(), driver.durable().instances.size());
}

// The addresses of what runs are theirs still.
TEST(LostNetworks, AreAdoptedAsTheNodesHaveThem) {
  Durable first;
  first.counters.cluster = "first";
  Driver driver({}, first);
  driver.join("n1", a_node().address("192.168.0.1"));
  driver.apply({a_service("other"), a_deployment("c", {a_run("other")})});
  driver.apply(
      {a_service("web").port(80).owner("acme"), a_deployment("d", {a_run("web").times(2)})});
  const Durable before = driver.durable();
  Durable second;
  second.counters.cluster = "second";
  driver.restart_with(second);
  driver.connect("n1");
  driver.release(Release::Adopt);
  for (const auto& [key, record] : before.instances) {
    EXPECT_EQ(driver.record(key).address, record.address);
    EXPECT_EQ(driver.agent("n1").starts[key], 1);
  }
  for (const auto& [owner, network] : before.networks) {
    EXPECT_EQ(driver.durable().networks.at(owner).subnet, network.subnet);
    EXPECT_EQ(driver.durable().networks.at(owner).vxlan, network.vxlan);
  }
  EXPECT_EQ(driver.durable().node_addresses, before.node_addresses);
}

}  // namespace
}  // namespace berth::control
