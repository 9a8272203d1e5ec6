#include "placement/ledger.h"

#include <gtest/gtest.h>

#include "placement/testing.h"

namespace berth::placement {
namespace {

// Keeps the documents that the views refer to.
struct Accounts {
  explicit Accounts(std::vector<model::Node> listed) : nodes(std::move(listed)) {
    for (const model::Node& node : nodes) {
      views.push_back({.id = node.id, .info = &node.info, .settings = {}});
    }
  }
  Ledger open() const { return {views, Ledger::Capacity::Full}; }

  std::vector<model::Node> nodes;
  std::vector<SnapshotNode> views;
};

Holding holding(std::size_t node, const Amounts& amounts) {
  return {.node = node, .runtime = 0, .amounts = amounts, .shared_resources = {}};
}

TEST(Ledger, WhatIsReservedComesBack) {
  const Accounts accounts({a_node("n1")
                               .with_partitions({.storage = Bytes{100}, .state = Bytes{100}})
                               .with_resource("camera", 2)
                               .build()});
  Ledger ledger = accounts.open();
  Holding all = holding(0, {Dmips{300}, Bytes{30}, Bytes{3}, Bytes{4}});
  all.shared_resources = {"camera"};

  ledger.reserve(all);
  EXPECT_EQ(ledger.node_cpu_left(0, SystemUsage::Counted), Dmips{700});
  EXPECT_EQ(ledger.node_ram_left(0, SystemUsage::Counted), Bytes{970});
  EXPECT_EQ(ledger.storage_left(0), Bytes{97});
  EXPECT_EQ(ledger.state_left(0, Bytes{3}), Bytes{96});
  EXPECT_EQ(ledger.shared_left(0, "camera"), 1);

  ledger.release(all);
  EXPECT_EQ(ledger.node_cpu_left(0, SystemUsage::Counted), Dmips{1000});
  EXPECT_EQ(ledger.storage_left(0), Bytes{100});
  EXPECT_EQ(ledger.state_left(0, Bytes{3}), Bytes{100});
  EXPECT_EQ(ledger.shared_left(0, "camera"), 2);
}

TEST(Ledger, SystemUsageIsCountedOrIgnored) {
  Accounts accounts({a_node("n1").build()});
  accounts.views[0].system_usage = {Dmips{400}, Bytes{40}};
  const Ledger ledger = accounts.open();
  EXPECT_EQ(ledger.node_cpu_left(0, SystemUsage::Counted), Dmips{600});
  EXPECT_EQ(ledger.node_ram_left(0, SystemUsage::Counted), Bytes{960});
  EXPECT_EQ(ledger.node_cpu_left(0, SystemUsage::Ignored), Dmips{1000});
  EXPECT_EQ(ledger.node_ram_left(0, SystemUsage::Ignored), Bytes{1000});
}

TEST(Ledger, ACapOfZeroIsNone) {
  model::Runtime capped = a_runtime("a");
  capped.limits = {Dmips{100}, Bytes{10}, 1};
  const Accounts accounts({a_node("n1").with_runtimes({capped, a_runtime("b")}).build()});
  Ledger ledger = accounts.open();
  ledger.reserve(holding(0, {Dmips{60}, Bytes{6}, {}, {}}));
  EXPECT_EQ(ledger.runtime_cpu_left({0, 0}), Dmips{40});
  EXPECT_EQ(ledger.runtime_ram_left({0, 0}), Bytes{4});
  EXPECT_EQ(ledger.instances_left({0, 0}), 0);
  EXPECT_EQ(ledger.runtime_cpu_left({0, 1}), std::nullopt);
  EXPECT_EQ(ledger.runtime_ram_left({0, 1}), std::nullopt);
  EXPECT_EQ(ledger.instances_left({0, 1}), std::nullopt);
}

TEST(Ledger, AResourceThatIsNotListedHasNothingLeft) {
  const Accounts accounts({a_node("n1").with_resource("camera", 0).build()});
  const Ledger ledger = accounts.open();
  EXPECT_EQ(ledger.shared_left(0, "camera"), std::nullopt);
  EXPECT_EQ(ledger.shared_left(0, "lidar"), 0);
}

TEST(Ledger, TheSamePartitionIsOneCounter) {
  const Accounts accounts(
      {a_node("n1")
           .with_partitions({.storage = Bytes{100}, .state = Bytes{5}, .same_partition = true})
           .build()});
  Ledger ledger = accounts.open();
  ledger.reserve(holding(0, {{}, {}, Bytes{30}, Bytes{20}}));
  EXPECT_EQ(ledger.storage_left(0), Bytes{50});
  EXPECT_EQ(ledger.state_left(0, Bytes{45}), Bytes{5});
}

TEST(Ledger, AUnitWidePartitionIsSharedByTheNodesThatDeclareIt) {
  const model::Partitions wide{.storage = Bytes{100}, .unit_wide = true};
  const model::Partitions own{.storage = Bytes{100}};
  const Accounts accounts({a_node("n1").with_partitions(wide).build(),
                           a_node("n2").with_partitions(own).build(),
                           a_node("n3").with_partitions(wide).build()});
  Ledger ledger = accounts.open();
  ledger.reserve(holding(2, {{}, {}, Bytes{60}, {}}));
  EXPECT_EQ(ledger.storage_left(0), Bytes{40});
  EXPECT_EQ(ledger.storage_left(1), Bytes{100});
  EXPECT_EQ(ledger.storage_left(2), Bytes{40});
  EXPECT_TRUE(ledger.same_partition(0, 2));
  EXPECT_FALSE(ledger.same_partition(0, 1));
}

TEST(Ledger, AnOverloadedNodeCountsItsMinThresholdOfWhatHasARule) {
  Accounts accounts({a_node("n1").with_cpu(1001).build(), a_node("n2").build()});
  accounts.views[0].overloaded = {.cpu = true, .ram = false};
  accounts.views[0].settings.thresholds.cpu = model::ThresholdRule{.min = 75, .max = 85};
  const Ledger ledger(accounts.views, Ledger::Capacity::RelievedWhereOverloaded);
  EXPECT_EQ(ledger.node_cpu_left(0, SystemUsage::Counted), Dmips{750});
  EXPECT_EQ(ledger.node_ram_left(0, SystemUsage::Counted), Bytes{1000});
  EXPECT_EQ(ledger.node_cpu_left(1, SystemUsage::Counted), Dmips{1000});
  EXPECT_EQ(accounts.open().node_cpu_left(0, SystemUsage::Counted), Dmips{1001});
}

TEST(Ledger, WhatIsHeldWithoutARuntimeTakesRoomOfTheNodeOnly) {
  model::Runtime capped = a_runtime("a");
  capped.limits = {Dmips{100}, Bytes{10}, 1};
  const Accounts accounts({a_node("n1").with_runtimes({capped}).build()});
  Ledger ledger = accounts.open();
  Holding orphan = holding(0, {Dmips{60}, {}, {}, {}});
  orphan.runtime.reset();
  ledger.reserve(orphan);
  EXPECT_EQ(ledger.node_cpu_left(0, SystemUsage::Counted), Dmips{940});
  EXPECT_EQ(ledger.runtime_cpu_left({0, 0}), Dmips{100});
  EXPECT_EQ(ledger.instances_left({0, 0}), 1);
}

}  // namespace
}  // namespace berth::placement
