#include "controld/loop/persistence.h"

#include <gtest/gtest.h>

#include "codec/stored_record.h"
#include "store/memory/memory_store.h"

namespace berth::controld {
namespace {

using control::Durable;
using control::Write;

model::Item an_item() {
  model::Item item;
  item.id = model::ItemId("telemetry");
  item.version = "1.2.0";
  item.images.push_back({.platform = {}, .runtimes = {}, .form = model::OciImage{"images/t:1.2"}});
  item.quotas.cpu = Dmips(1000);
  return item;
}

Durable a_state() {
  Durable state;
  const model::Item item = an_item();
  state.items[model::key_of(item)] = item;
  state.deployments["base"] = {.name = "base", .run = {}};
  model::NodeConfig config;
  config.name = "edge";
  config.labels = {"zone=edge"};
  state.node_configs["edge"] = config;
  model::NodeRecord node;
  node.id = model::NodeId("n1");
  node.info.capacity = {Dmips(10'000), Bytes(1 << 30)};
  state.nodes[node.id] = node;
  model::InstanceRecord instance;
  instance.key = {item.id, model::SubjectId("vehicle"), 3};
  instance.version = item.version;
  instance.phase = model::Phase::Placed;
  instance.place = {node.id, model::RuntimeId("runc")};
  instance.uid = 20'000;
  state.instances[instance.key] = instance;
  state.states[instance.key] = {.state = {instance.key, 3, "digest", std::string("a\0b\n", 4)},
                                .node = node.id};
  state.decisions[instance.key] = {
      .key = instance.key,
      .revision = 41,
      .text = "1 on n1/runc",
      .because = {},
      .place = instance.place,
      .reason = {},
      .hint = {},
      .answers = model::answers_of({{.node = model::NodeId("n2"),
                                     .reason = model::Reason::InsufficientCpu,
                                     .behind = {},
                                     .asked = 600,
                                     .has = 412,
                                     .what = {}}},
                                   1)};
  state.groups[item.id] = {item.id, 20'001};
  state.freed_uids[7] = {7, 20'005};
  const model::OwnerId acme("acme");
  state.networks[acme] = {
      .owner = acme, .vxlan = 4096, .subnet = {{0x0a800000}, 20}, .next_host = 3};
  state.node_addresses[{acme, node.id}] = {acme, node.id, {0x0a800001}};
  state.freed_addresses[{acme, 9}] = {acme, 9, {0x0a800002}};
  state.counters = {
      .epoch = 1, .revision = 42, .next_uid = 20'006, .next_gid = 20'002, .next_freed = 8};
  const model::SubjectId subject("vehicle");
  state.rollouts[{item.id, subject}] = {.item = item.id,
                                        .subject = subject,
                                        .from = "1",
                                        .to = "2",
                                        .allow_partial = true,
                                        .failed = model::Problem{"Exited", "at once"},
                                        .kept_back = {3}};
  state.env_overrides["debug"] = {
      .name = "debug",
      .entries = {{.item = item.id,
                   .subject = {},
                   .index = {},
                   .variables = {{.name = "LEVEL", .value = "debug", .expires = 90min}}}}};
  state.subjects[subject] = {.id = subject, .present = false};
  state.namespaces["games"] = {"games"};
  model::Application echo;
  echo.name = "echo";
  echo.ns = "games";
  echo.item = item.id;
  const model::ApplicationKey echo_key = model::key_of(echo);
  state.applications[echo_key] = echo;
  state.number_blocks[echo_key] = {.application = echo_key, .reserved_to = 1000};
  state.port_blocks["10.0.0.1"] = {.address = "10.0.0.1", .held = "0fff"};
  return state;
}

std::vector<Write> all_of(const Durable& state) {
  std::vector<Write> writes;
  const auto add = [&]<class Table>(const Table& table) {
    if constexpr (requires { table.records; }) {
      for (const auto& [key, record] : state.*(table.records)) {
        writes.push_back(control::put_write(record));
      }
    } else {
      writes.push_back(control::put_write(state.*(table.record)));
    }
  };
  std::apply([&](const auto&... tables) { (add(tables), ...); }, model::kTables);
  return writes;
}

TEST(ControllerPersistence, WhatWasWrittenIsLoaded) {
  store::MemoryDisk disk;
  store::MemoryStore store(disk);
  ASSERT_TRUE(store.commit(to_changes(all_of(a_state()))));
  const Result<Durable> loaded = load(store);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(*loaded, a_state());
}

TEST(ControllerPersistence, WhoLooksFromOutsideKnowsEveryRecord) {
  std::optional<std::uint64_t> revision;
  for (const store::Change& change : to_changes(all_of(a_state()))) {
    EXPECT_EQ(codec::owner_of_stored(change.key), codec::StoreOwner::ControlPlane) << change.key;
    EXPECT_EQ(codec::flaw_of_stored(change.key, *change.value), std::nullopt) << change.key;
    EXPECT_NE(codec::flaw_of_stored(change.key, "{"), std::nullopt) << change.key;
    if (!revision) revision = codec::revision_in(change.key, *change.value);
  }
  EXPECT_EQ(revision, 42U);
}

TEST(ControllerPersistence, AnEmptyStoreIsAnEmptyState) {
  store::MemoryDisk disk;
  const Result<Durable> loaded = load(store::MemoryStore(disk));
  ASSERT_TRUE(loaded);
  EXPECT_EQ(*loaded, Durable{});
}

// As stores of older versions have them.
TEST(ControllerPersistence, AKeyIsItsTableAndItsName) {
  std::vector<std::string> keys;
  for (const store::Change& change : to_changes(all_of(a_state()))) keys.push_back(change.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"items/telemetry@1.2.0",
                                            "deployments/base",
                                            "node_configs/edge",
                                            "nodes/n1",
                                            "instances/telemetry/vehicle/3",
                                            "states/telemetry/vehicle/3",
                                            "groups/telemetry",
                                            "freed_uids/00000000000000000007",
                                            "networks/acme",
                                            "node_addresses/acme/n1",
                                            "freed_addresses/acme/00000000000000000009",
                                            "counters/counters",
                                            "rollouts/telemetry/vehicle",
                                            "env_overrides/debug",
                                            "subjects/vehicle",
                                            "decisions/telemetry/vehicle/3",
                                            "namespaces/default",
                                            "namespaces/games",
                                            "applications/games/echo",
                                            "number_blocks/games/echo",
                                            "port_blocks/10.0.0.1"}));
}

TEST(ControllerPersistence, WhatIsErasedHasTheKeyOfWhatWasPut) {
  for (const Write& put : all_of(a_state())) {
    Durable state = a_state();
    control::apply(state, {put.table, put.key, std::nullopt});
    control::apply(state, put);
    EXPECT_EQ(state, a_state()) << put.key;
  }
}

TEST(ControllerPersistence, WhatWasErasedIsGone) {
  store::MemoryDisk disk;
  store::MemoryStore store(disk);
  ASSERT_TRUE(store.commit(to_changes(all_of(a_state()))));
  ASSERT_TRUE(
      store.commit(to_changes({control::erase_write<model::NodeRecord>(model::NodeId("n1"))})));
  EXPECT_TRUE(load(store)->nodes.empty());
}

TEST(ControllerPersistence, ADamagedRecordIsAnErrorThatNamesIt) {
  store::MemoryDisk disk;
  store::MemoryStore store(disk);
  ASSERT_TRUE(store.commit({{"nodes/n1", "{\"id\":"}}));
  const Result<Durable> loaded = load(store);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::Damaged);
  EXPECT_NE(loaded.error().message.find("nodes/n1"), std::string::npos);
}

}  // namespace
}  // namespace berth::controld
