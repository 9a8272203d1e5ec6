#include "agentd/persistence.h"

#include <gtest/gtest.h>

#include "codec/stored_record.h"
#include "store/memory/memory_store.h"

namespace berth::agentd {
namespace {

model::WantedRecord a_wanted_record() {
  model::WantedRecord wanted;
  wanted.spec.key = {model::ItemId("telemetry"), model::SubjectId("vehicle"), 2};
  wanted.spec.item.id = wanted.spec.key.item;
  wanted.spec.item.version = "1.2.0";
  wanted.spec.runtime = model::RuntimeId("runc");
  wanted.spec.uid = 20'000;
  wanted.generation = {1, 17};
  wanted.exit_code = -1;
  return wanted;
}

model::NodeNetwork a_network() {
  model::ProviderNetwork acme;
  acme.owner = model::OwnerId("acme");
  acme.vxlan = 4096;
  acme.subnet = {{0x0a800000}, 20};
  acme.node_address = {0x0a800001};
  return {.networks = {acme}, .names = {{{0x0a800002}, {"web"}}}, .flows = {}};
}

TEST(AgentPersistence, WhatWasWrittenIsLoaded) {
  store::MemoryDisk disk;
  store::MemoryStore store(disk);
  const model::WantedRecord wanted = a_wanted_record();
  const model::NodeNetwork network = a_network();
  const std::vector<agent::Write> writes{agent::WriteWanted{wanted.spec.key, wanted},
                                         agent::WriteActed{{1, 18}}, agent::WriteNetwork{network}};
  ASSERT_TRUE(store.commit(to_changes(writes)));
  const Result<agent::Restored> loaded = load(store);
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_EQ(loaded->wanted.size(), 1U);
  EXPECT_EQ(loaded->wanted.at(wanted.spec.key), wanted);
  EXPECT_EQ(loaded->acted, (model::CommandNumber{1, 18}));
  EXPECT_EQ(loaded->network, network);
}

TEST(AgentPersistence, WhoLooksFromOutsideKnowsEveryRecord) {
  const model::WantedRecord wanted = a_wanted_record();
  const model::InstanceKey& key = wanted.spec.key;
  const model::SavedState state{key, 7, "abc", "a state"};
  for (const store::Change& change :
       to_changes({agent::WriteWanted{key, wanted}, agent::WriteActed{{1, 18}},
                   agent::WriteNetwork{a_network()}, agent::WriteHanded{key, state},
                   agent::WriteLast{key, state}, agent::WriteErasing{key, true}})) {
    EXPECT_EQ(codec::owner_of_stored(change.key), codec::StoreOwner::Agent) << change.key;
    EXPECT_EQ(codec::flaw_of_stored(change.key, *change.value), std::nullopt) << change.key;
    EXPECT_NE(codec::flaw_of_stored(change.key, "{"), std::nullopt) << change.key;
  }
}

TEST(AgentPersistence, StatesAreLoadedByteForByte) {
  store::MemoryDisk disk;
  store::MemoryStore store(disk);
  const model::InstanceKey key = a_wanted_record().spec.key;
  const model::SavedState handed{key, 7, "abc", std::string("a\0b\n", 4)};
  const model::SavedState last{key, 0, "def", "last"};
  ASSERT_TRUE(
      store.commit(to_changes({agent::WriteHanded{key, handed}, agent::WriteLast{key, last}})));
  const Result<agent::Restored> loaded = load(store);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->handed.at(key), handed);
  EXPECT_EQ(loaded->last.at(key), last);
  ASSERT_TRUE(store.commit(
      to_changes({agent::WriteHanded{key, std::nullopt}, agent::WriteLast{key, std::nullopt}})));
  EXPECT_TRUE(load(store)->handed.empty());
  EXPECT_TRUE(load(store)->last.empty());
}

TEST(AgentPersistence, AnEmptyStoreIsAnAgentThatWasNeverTold) {
  store::MemoryDisk disk;
  const Result<agent::Restored> loaded = load(store::MemoryStore(disk));
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(loaded->wanted.empty());
  EXPECT_EQ(loaded->acted, model::CommandNumber{});
  EXPECT_EQ(loaded->network, std::nullopt);
}

TEST(AgentPersistence, WhatWasErasedIsGone) {
  store::MemoryDisk disk;
  store::MemoryStore store(disk);
  const model::WantedRecord wanted = a_wanted_record();
  ASSERT_TRUE(store.commit(to_changes({agent::WriteWanted{wanted.spec.key, wanted}})));
  ASSERT_TRUE(store.commit(to_changes({agent::WriteWanted{wanted.spec.key, std::nullopt}})));
  EXPECT_TRUE(load(store)->wanted.empty());
}

TEST(AgentPersistence, ADamagedRecordIsAnErrorThatNamesIt) {
  store::MemoryDisk disk;
  store::MemoryStore store(disk);
  ASSERT_TRUE(store.commit({{"acted", "?"}}));
  const Result<agent::Restored> loaded = load(store);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::Damaged);
  EXPECT_NE(loaded.error().message.find("acted"), std::string::npos);
}

}  // namespace
}  // namespace berth::agentd
