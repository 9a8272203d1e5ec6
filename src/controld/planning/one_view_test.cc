#include <gtest/gtest.h>

#include <google/protobuf/util/json_util.h>

#include <ranges>

#include "codec/manifest.h"
#include "codec/moment_wire.h"
#include "control/testing.h"
#include "control/testing/history.h"
#include "controld/planning/cluster_documents.h"

// Plans of the API and of the command line see what the controller sees.
namespace berth::controld {
namespace {

using placement::Snapshot;
using placement::SnapshotNode;

constexpr std::uint64_t kHistories = 40;
constexpr int kSteps = 120;

bool is_same(const SnapshotNode& a, const SnapshotNode& b) {
  return placement::moment_of(a) == placement::moment_of(b) && *a.info == *b.info &&
         a.settings == b.settings && a.usage == b.usage;
}

bool asks_the_same(const placement::PoolAsk& a, const placement::PoolAsk& b) {
  return placement::moment_of(a) == placement::moment_of(b) && *a.item == *b.item;
}

template <class T>
bool point_to_the_same(const std::vector<const T*>& a, const std::vector<const T*>& b) {
  return std::ranges::equal(a, b, [](const T* one, const T* other) { return *one == *other; });
}

void expect_same(const Snapshot& seen, const Snapshot& expected) {
  EXPECT_TRUE(std::ranges::equal(seen.nodes, expected.nodes, is_same));
  EXPECT_TRUE(seen.present == expected.present);
  EXPECT_TRUE(seen.homes == expected.homes);
  EXPECT_TRUE(seen.bound == expected.bound);
  EXPECT_TRUE(seen.absent == expected.absent);
  EXPECT_TRUE(seen.avoided == expected.avoided);
  EXPECT_TRUE(std::ranges::equal(seen.pools, expected.pools, asks_the_same));
  EXPECT_TRUE(point_to_the_same(seen.deployments, expected.deployments));
  EXPECT_TRUE(std::ranges::equal(seen.items, expected.items, [](const auto& a, const auto& b) {
    return *a.second == *b.second;
  }));
}

// As the command line gets it.
placement::Moment sent_over(const placement::Moment& moment) {
  std::string json;
  v1::ClusterMoment received;
  const auto written = google::protobuf::util::MessageToJsonString(codec::to_wire(moment), &json);
  EXPECT_TRUE(written.ok());
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &received).ok());
  return codec::from_wire(received);
}

void follow(std::uint64_t seed) {
  control::History history(seed);
  control::Config config;
  control::Controller controller(config, control::Durable{});
  std::optional<Time> wake_at;
  for (int step = 0; step < kSteps && !testing::Test::HasFailure(); ++step) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", step " << step);
    history.pass_time(wake_at);
    const control::Effects effects = controller.step(history.now(), history.next_batch());
    wake_at = effects.wake_at;
    history.deliver(effects.commands);
    const Cluster cluster = copy_of(controller);
    expect_same(snapshot_of(cluster), controller.snapshot());
    const placement::Moment afar = sent_over(cluster.moment);
    expect_same(placement::snapshot_of(cluster.documents, afar, {}), controller.snapshot());
  }
}

TEST(OneView, IsTheSameForTheControllerItsPlansAndTheCommandLine) {
  for (std::uint64_t seed = 1; seed <= kHistories && !HasFailure(); ++seed) follow(seed);
}

TEST(OneView, PlansSeeThePoolsOfApplications) {
  control::Driver driver;
  driver.join("n1");
  model::Application application;
  application.ns = "games";
  application.name = "echo";
  application.item = model::ItemId{"echo"};
  application.priority = 7;
  application.scaling.maximum = 3;
  application.scaling.idle = model::Band{2, 3};
  driver.apply({control::a_service("echo"), model::Namespace{"games"}, application});
  driver.advance(1s);
  const Cluster cluster = copy_of(driver.controller());
  EXPECT_EQ(cluster.moment.pools.size(), 2U);
  std::string nodes;
  for (const model::Document& document : cluster.documents) {
    if (std::holds_alternative<model::Node>(document))
      nodes += codec::to_json(document) + "\n---\n";
  }
  EXPECT_TRUE(codec::parse_manifests({{"cluster", nodes}}).ok()) << "the command line reads them";
  expect_same(snapshot_of(cluster), driver.controller().snapshot());
  const placement::Plan plan = placement::make_plan(snapshot_of(cluster), {});
  EXPECT_TRUE(plan.stops.empty()) << "a plan leaves them alone";
  const placement::Moment afar = sent_over(cluster.moment);
  expect_same(placement::snapshot_of(cluster.documents, afar, {}), driver.controller().snapshot());
}

TEST(OneView, ADrainThatIsOverdueIsSoForPlansToo) {
  control::Driver driver;
  driver.join("n1");
  driver.join("n2");
  driver.drain("n1", 10s);
  const auto drain = [&] { return snapshot_of(copy_of(driver.controller())).nodes[0].drain; };
  EXPECT_EQ(drain(), placement::Drain::Gently);
  driver.advance(10s);
  EXPECT_EQ(drain(), placement::Drain::Now);
}

}  // namespace
}  // namespace berth::controld
