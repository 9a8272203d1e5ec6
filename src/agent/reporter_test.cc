#include "agent/reporter.h"

#include <gtest/gtest.h>

#include "agent/driver.h"

// What the controller hears, and when.
namespace berth::agent {
namespace {

Measured a_measurement(std::int64_t cpu) {
  return {.total = {Dmips{cpu * 2}, Bytes{64}},
          .instances = {{key_of("web"), {Dmips{cpu}, Bytes{32}}},
                        {key_of("unknown"), {Dmips{1}, Bytes{1}}}}};
}

TEST(Report, TheFirstOfAConnectionIsFull) {
  Driver driver;
  driver.tell(a_node());
  EXPECT_TRUE(driver.effects().reports.empty());
  driver.tell(Connected{1});
  EXPECT_TRUE(driver.report().full);
  EXPECT_EQ(driver.report().revision, 1U);
  EXPECT_EQ(driver.report().boot_id, "boot-1");
  EXPECT_EQ(driver.report().node, a_node().info);
}

// So that nobody has to compare clocks.
TEST(Report, SaysForHowLongRuntimesHaveNotBeenReady) {
  const model::RuntimeId crun{"crun"};
  Driver driver;
  driver.tell(a_node({a_runtime("crun", model::Readiness::Unknown)}));
  driver.wait(2s);
  driver.tell(Connected{1});
  EXPECT_EQ(driver.report().not_ready_for, (std::map<model::RuntimeId, Duration>{{crun, 2s}}));
  driver.wait(1s);
  driver.tell(a_node({a_runtime("crun", model::Readiness::NotReady)}));
  EXPECT_EQ(driver.report().not_ready_for, (std::map<model::RuntimeId, Duration>{{crun, 3s}}));
  driver.tell(a_node());
  EXPECT_TRUE(driver.report().not_ready_for.empty());
}

TEST(Report, AFullOneWaitsForTheNodeToBeObserved) {
  Driver driver;
  driver.tell(Connected{1});
  EXPECT_EQ(driver.effects().wake_at, std::nullopt);
  driver.tell(a_full_command(1, {}));
  EXPECT_TRUE(driver.effects().reports.empty());
  driver.tell(a_node());
  EXPECT_TRUE(driver.report().full);
  EXPECT_EQ(driver.report().acted, number(1));
}

TEST(Report, AFullOneListsWantedStoppingAndFoundOnes) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_partial_command(2, {a_spec("db")}, {key_of("web")}));
  driver.tell(a_list(
      "crun", {a_found("web", {number(1), 0}), a_found("os", {}, model::ItemType::Component)}));
  driver.tell(Connected{2});
  ASSERT_EQ(driver.report().instances.size(), 3U);
  EXPECT_TRUE(driver.status("web").stopping);
  EXPECT_FALSE(driver.status("db").stopping);
  EXPECT_EQ(driver.status("os").type, model::ItemType::Component);
}

TEST(Report, EachStepWithChangesIsOneRevisionWithAllOfThem) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_spec("a"), a_spec("b"), a_spec("c")}));
  const auto revision = driver.report().revision;
  driver.tell(Started{key_of("a"), {number(1), 0}}, Started{key_of("b"), {number(1), 0}});
  EXPECT_EQ(driver.report().revision, revision + 1);
  EXPECT_FALSE(driver.report().full);
  EXPECT_EQ(driver.report().node, std::nullopt);
  EXPECT_EQ(driver.report().instances.size(), 2U);
}

TEST(Report, TheRevisionGrowsOverConnections) {
  Driver driver = a_driver();
  EXPECT_EQ(driver.report().revision, 1U);
  driver.tell(Disconnected{1});
  driver.tell(Connected{2});
  EXPECT_EQ(driver.report().revision, 2U);
}

TEST(Report, NothingIsSaidWhileDisconnected) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(Disconnected{1});
  driver.tell(Exited{key_of("web"), {number(1), 0}, 1});
  driver.wait(1min);
  EXPECT_TRUE(driver.effects().reports.empty());
  driver.tell(Connected{2});
  EXPECT_TRUE(driver.report().full);
  EXPECT_EQ(driver.status("web").restarts, 1U);
}

TEST(Report, TheEndOfAnOlderConnectionIsIgnored) {
  Driver driver = a_driver();
  driver.tell(Connected{2});
  driver.tell(Disconnected{1});
  driver.wait(2s);
  EXPECT_EQ(driver.effects().reports.size(), 1U);
}

TEST(Report, ReconnectingTouchesNoInstance) {
  Driver driver = a_driver_running(a_spec("web").checked_every(1min));
  driver.tell(Disconnected{1}, Connected{2});
  EXPECT_TRUE(driver.effects().actions.empty());
  EXPECT_TRUE(driver.effects().writes.empty());
}

TEST(Heartbeat, ComesWhenNothingWasSaidForItsPeriod) {
  Driver driver = a_driver();
  const auto revision = driver.report().revision;
  driver.wait(2s - 1us);
  EXPECT_TRUE(driver.effects().reports.empty());
  driver.wait(1us);
  EXPECT_TRUE(model::is_heartbeat(driver.report()));
  EXPECT_EQ(driver.report().revision, revision);
  driver.wait(10s);
  EXPECT_EQ(driver.effects().reports.size(), 5U);
}

TEST(Heartbeat, IsPutOffByAnyOtherReport) {
  Driver driver = a_driver();
  driver.wait(1s);
  driver.tell(a_full_command(1, {}));
  driver.wait(2s - 1us);
  EXPECT_TRUE(driver.effects().reports.empty());
}

TEST(Heartbeat, AnIdleAgentWritesNothing) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.wait(1h);
  EXPECT_TRUE(driver.effects().writes.empty());
  EXPECT_TRUE(driver.effects().actions.empty());
  EXPECT_EQ(driver.effects().reports.size(), 1800U);
}

TEST(NodeObservation, AChangeIsReportedAtOnce) {
  Driver driver = a_driver();
  const auto revision = driver.report().revision;
  const NodeObserved changed = a_node({a_runtime("crun", model::Readiness::NotReady)});
  driver.tell(changed);
  EXPECT_EQ(driver.report().node, changed.info);
  EXPECT_FALSE(driver.report().full);
  EXPECT_EQ(driver.report().revision, revision + 1);
  driver.tell(changed);
  EXPECT_TRUE(driver.effects().reports.empty());
}

TEST(Usage, AMeasurementAloneIsNoChange) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_measurement(100));
  EXPECT_TRUE(driver.effects().writes.empty());
  EXPECT_TRUE(driver.effects().reports.empty());
}

TEST(Usage, GoesWithHeartbeats) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_measurement(100));
  driver.wait(2s);
  EXPECT_EQ(driver.report().usage, (model::Usage{Dmips{200}, Bytes{64}}));
  EXPECT_EQ(driver.status("web").usage, (model::Usage{Dmips{100}, Bytes{32}}));
}

TEST(Usage, OfAnInstanceIsToldAgainOnlyWhenItChangesEnoughToMatter) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_measurement(1'000));
  driver.wait(2s);
  driver.tell(a_measurement(1'090));
  driver.wait(2s);
  EXPECT_TRUE(model::is_heartbeat(driver.report()));
  driver.tell(a_measurement(1'110));
  driver.wait(2s);
  EXPECT_EQ(driver.status("web").usage.cpu, Dmips{1'110});
}

TEST(Usage, OfDisksAndNetworksIsToldWhenItChangesEnoughToMatter) {
  Driver driver = a_driver_running(a_spec("web"));
  Measured measured = a_measurement(0);
  measured.node = model::NodeMeasurement{{50'000, 0}, {{"storage", Bytes{1 << 30}, Bytes{0}}}};
  measured.footprints[key_of("web")].storage = Bytes{1 << 20};
  driver.tell(measured);
  driver.wait(2s);
  EXPECT_EQ(driver.report().measurement, measured.node);
  EXPECT_EQ(driver.status("web").footprint.storage, Bytes{1 << 20});
  measured.node->traffic.received = 51'000;
  driver.tell(measured);
  driver.wait(2s);
  EXPECT_FALSE(driver.report().measurement.has_value());
  driver.tell(Connected{2});
  EXPECT_EQ(driver.report().measurement, measured.node);
}

TEST(Usage, BeyondAQuotaIsAProblemOfAnInstanceThatRunsOn) {
  model::InstanceSpec spec = a_spec("web");
  spec.item.quotas.storage = Bytes{1'000};
  Driver driver = a_driver_running(spec);
  Measured measured = a_measurement(0);
  measured.footprints[spec.key].storage = Bytes{1'001};
  driver.tell(measured);
  EXPECT_EQ(driver.status("web").state, model::InstanceState::Active);
  EXPECT_EQ(driver.status("web").problem.reason, "StorageExceeded");
  measured.footprints[spec.key].storage = Bytes{1'000};
  driver.tell(measured);
  EXPECT_EQ(driver.status("web").problem.reason, "");
}

TEST(Usage, OfAnInstanceIsToldWhenAHeartbeatIsDueAndItIsNotTheSame) {
  Driver driver = a_driver_running(a_spec("web"));
  const auto revision = driver.report().revision;
  driver.tell(a_measurement(100));
  driver.wait(2s);
  EXPECT_EQ(driver.report().revision, revision + 1);
  ASSERT_EQ(driver.report().instances.size(), 1U);
  EXPECT_EQ(driver.status("web").usage, (model::Usage{Dmips{100}, Bytes{32}}));
  driver.tell(a_measurement(100));
  driver.wait(2s);
  EXPECT_TRUE(model::is_heartbeat(driver.report()));
}

TEST(Usage, OfAnInstanceGoesWhereTheInstanceIsListed) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_measurement(100));
  driver.tell(Connected{2});
  EXPECT_EQ(driver.report().usage, (model::Usage{Dmips{200}, Bytes{64}}));
  EXPECT_EQ(driver.status("web").usage, (model::Usage{Dmips{100}, Bytes{32}}));
  driver.tell(a_measurement(300), Exited{key_of("web"), {number(1), 0}, 1});
  EXPECT_EQ(driver.status("web").usage, (model::Usage{Dmips{300}, Bytes{32}}));
}

}  // namespace
}  // namespace berth::agent
