#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

constexpr model::ThresholdRule kRule{.min = 50, .max = 90, .timeout = 10s};

// "web" runs on n1; its quota is 500, and it is reported above 450 and well again at 250.
class Alerts : public testing::Test {
 protected:
  Alerts() {
    driver.join("n1");
    driver.apply({a_service("web").cpu_alert(500, kRule), a_deployment("d", {a_run("web")})});
  }

  void use(std::int64_t cpu) {
    FakeAgent& agent = driver.agent("n1");
    model::ReportedStatus status = agent.statuses.at(kWeb);
    status.usage.cpu = Dmips{cpu};
    agent.find(status);
    driver.report_changes("n1");
  }
  void raise() {
    use(460);
    driver.advance(10s);
    ASSERT_EQ(reason(), "UsageAlert");
  }
  model::InstanceStatus status() const { return driver.controller().statuses().at(kWeb); }
  std::string reason() const { return status().problem.reason; }
  // By the last that happened.
  bool raised() const { return driver.noted(NoteKind::AlertRaised, "instance/web/default/0"); }
  bool ended() const { return driver.noted(NoteKind::AlertEnded, "instance/web/default/0"); }

  Driver driver;
};

TEST_F(Alerts, AreRaisedExactlyAfterTheTimeoutAndOnlyOnce) {
  use(451);
  driver.advance(10s - 1us);
  EXPECT_EQ(reason(), "");
  driver.advance(1us);
  EXPECT_TRUE(raised());
  EXPECT_EQ(reason(), "UsageAlert");
  EXPECT_EQ(status().problem.message, "cpu 90.2 % of its quota, above 90 % for 10 s");
  EXPECT_EQ(status().state, model::InstanceState::Active);
  use(490);
  driver.advance(60s);
  EXPECT_FALSE(raised());
}

TEST_F(Alerts, EndExactlyAfterTheTimeout) {
  raise();
  use(251);
  driver.advance(20s);
  EXPECT_EQ(reason(), "UsageAlert") << "below max, but not at min";
  use(250);
  driver.advance(10s - 1us);
  EXPECT_EQ(reason(), "UsageAlert");
  driver.advance(1us);
  EXPECT_EQ(reason(), "");
  EXPECT_TRUE(ended());
}

TEST_F(Alerts, EndWithTheRun) {
  raise();
  driver.set("n1", kWeb, model::InstanceState::Failed, {"Crashed", ""});
  EXPECT_TRUE(ended());
  EXPECT_TRUE(driver.controller().alerts().empty());
}

TEST_F(Alerts, EndWhenTheItemHasNoneAnyMore) {
  raise();
  driver.apply({a_service("web")});
  EXPECT_TRUE(ended());
  EXPECT_EQ(reason(), "");
}

TEST_F(Alerts, CountAtOnceWhenTheItemGetsThem) {
  model::Item item = a_service("web").cpu_alert(500, kRule);
  item.alerts = {};
  driver.apply({item});
  use(460);
  driver.advance(10s);
  EXPECT_EQ(reason(), "");
  driver.apply({a_service("web").cpu_alert(500, kRule)});
  driver.advance(10s);
  EXPECT_EQ(reason(), "UsageAlert");
}

TEST_F(Alerts, OfASilentNodeNothingIsLearnt) {
  use(460);
  driver.advance(8s);
  driver.disconnect("n1");
  driver.advance(8s);
  EXPECT_FALSE(raised());
  driver.connect("n1");
  driver.advance(9s);
  EXPECT_FALSE(raised()) << "the time starts anew";
  driver.advance(1s);
  EXPECT_TRUE(raised());
}

TEST_F(Alerts, ANodeThatSpeaksAgainOnTheSameConnectionIsHeard) {
  use(460);
  driver.agent("n1").answers = false;
  driver.advance(20s);
  EXPECT_FALSE(raised());
  driver.agent("n1").answers = true;
  driver.heartbeat("n1");
  driver.advance(10s);
  EXPECT_TRUE(raised());
}

TEST_F(Alerts, WithoutAQuotaThereIsNothingToCompareWith) {
  model::Item item = a_service("web");
  item.alerts.cpu = kRule;
  driver.apply({item});
  use(100'000);
  driver.advance(10s);
  EXPECT_EQ(reason(), "");
}

TEST_F(Alerts, NothingIsKeptOfWhatIsQuiet) {
  use(100);
  EXPECT_TRUE(driver.controller().alerts().empty());
}

}  // namespace
}  // namespace berth::control
