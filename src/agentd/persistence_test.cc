#include "agentd/persistence.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agentd/agent_store.h"
#include "agentd/config.h"
#include "agentd/unwritten.h"
#include "codec/stored_record.h"
#include "runtime/files/run_directory.h"
#include "store/memory/memory_store.h"

namespace berth::agentd {
namespace {

namespace fs = std::filesystem;

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
  const Result<Loaded> loaded = load(store);
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_EQ(loaded->restored.wanted.size(), 1U);
  EXPECT_EQ(loaded->restored.wanted.at(wanted.spec.key), wanted);
  EXPECT_EQ(loaded->restored.acted, (model::CommandNumber{1, 18}));
  EXPECT_EQ(loaded->restored.network, network);
}

TEST(AgentPersistence, WhoLooksFromOutsideKnowsEveryRecord) {
  const model::WantedRecord wanted = a_wanted_record();
  const model::InstanceKey& key = wanted.spec.key;
  const model::SavedState state{key, 7, "abc", "a state"};
  for (const store::Change& change :
       to_changes({agent::WriteWanted{key, wanted}, agent::WriteActed{{1, 18}},
                   agent::WriteNetwork{a_network()}, agent::WriteHanded{key, state},
                   agent::WriteLast{key, state}, agent::WriteErasing{key, true},
                   agent::WriteReceipt{{"c1", {1, 18}, "seal"}}})) {
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
  const Result<Loaded> loaded = load(store);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->restored.handed.at(key), handed);
  EXPECT_EQ(loaded->restored.last.at(key), last);
  ASSERT_TRUE(store.commit(
      to_changes({agent::WriteHanded{key, std::nullopt}, agent::WriteLast{key, std::nullopt}})));
  EXPECT_TRUE(load(store)->restored.handed.empty());
  EXPECT_TRUE(load(store)->restored.last.empty());
}

TEST(AgentPersistence, AnEmptyStoreIsAnAgentThatWasNeverTold) {
  store::MemoryDisk disk;
  const Result<Loaded> loaded = load(store::MemoryStore(disk));
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(loaded->restored.wanted.empty());
  EXPECT_EQ(loaded->restored.acted, model::CommandNumber{});
  EXPECT_EQ(loaded->restored.network, std::nullopt);
}

TEST(AgentPersistence, WhatWasErasedIsGone) {
  store::MemoryDisk disk;
  store::MemoryStore store(disk);
  const model::WantedRecord wanted = a_wanted_record();
  ASSERT_TRUE(store.commit(to_changes({agent::WriteWanted{wanted.spec.key, wanted}})));
  ASSERT_TRUE(store.commit(to_changes({agent::WriteWanted{wanted.spec.key, std::nullopt}})));
  EXPECT_TRUE(load(store)->restored.wanted.empty());
}

TEST(AgentPersistence, ADamagedRecordIsLeftOutAndNamedAndTheAgentIsInDoubtFromThenOn) {
  store::MemoryDisk disk;
  store::MemoryStore store(disk);
  const model::WantedRecord wanted = a_wanted_record();
  ASSERT_TRUE(store.commit(to_changes({agent::WriteWanted{wanted.spec.key, wanted}})));
  ASSERT_TRUE(store.commit({{"acted", "?"}}));
  const Result<Loaded> loaded = load(store);
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_EQ(loaded->damaged.size(), 1U);
  EXPECT_EQ(loaded->damaged[0].key, "acted");
  EXPECT_TRUE(loaded->restored.in_doubt);
  EXPECT_TRUE(loaded->restored.wanted.contains(wanted.spec.key));
  ASSERT_TRUE(store.commit(mended(*loaded)));
  EXPECT_TRUE(load(store)->damaged.empty());
  EXPECT_TRUE(load(store)->restored.in_doubt);
  ASSERT_TRUE(store.commit(to_changes({agent::WriteDoubt{false}})));
  EXPECT_FALSE(load(store)->restored.in_doubt);
}

// A directory with what an agent leaves in it.
class AgentStoreTest : public ::testing::Test {
 protected:
  AgentStoreTest() {
    std::string pattern = (fs::temp_directory_path() / "agent-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~AgentStoreTest() override { fs::remove_all(directory_); }

  void leave_a_run() {
    const runtime::RunRecord record{
        .found = {a_wanted_record().spec.key, {{1, 2}, 0}}, .runtime = {}, .boot = "b"};
    const runtime::RunDirectory run(directory_, record.found.key, record.found.run);
    ASSERT_TRUE(run.create(record));
  }
  void write_store(const std::string& bytes) {
    std::ofstream(store_file(directory_), std::ios::binary) << bytes;
  }
  bool is_lost() {
    const auto opened = open_agent_store(directory_);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened && opened->was_lost && opened->store->list("")->empty();
  }

  fs::path directory_;
};

TEST_F(AgentStoreTest, AFreshOneIsNotLost) {
  EXPECT_FALSE(is_lost());
  leave_a_run();
  EXPECT_FALSE(is_lost()) << "it is there by now";
}

TEST_F(AgentStoreTest, AMissingOneBesideWhatRunsWasLost) {
  leave_a_run();
  EXPECT_TRUE(is_lost());
}

TEST_F(AgentStoreTest, AnEmptyOneBesideWhatRunsWasLost) {
  leave_a_run();
  write_store("");
  EXPECT_TRUE(is_lost());
}

TEST_F(AgentStoreTest, ADamagedOneIsSetAsideForPeopleToLookAt) {
  write_store(std::string(8192, '?'));
  EXPECT_TRUE(is_lost());
  EXPECT_EQ(fs::file_size(store_file(directory_).string() + ".damaged-1"), 8192U);
}

// The life that sees that it was damaged may be over before it can write that down.
TEST_F(AgentStoreTest, OneThatFallsBackToItsGoodStateSaysSoToTheNextLifeToo) {
  const auto acted = to_changes({agent::WriteActed{{1, 2}}});
  { ASSERT_TRUE(open_agent_store(directory_)->store->commit(acted)); }
  EXPECT_FALSE(load(*open_agent_store(directory_)->store)->restored.in_doubt);
  write_store(std::string(8192, '?'));
  EXPECT_TRUE(open_agent_store(directory_)->was_lost);
  const auto next = open_agent_store(directory_);
  ASSERT_TRUE(next);
  EXPECT_FALSE(next->was_lost);
  const auto loaded = load(*next->store);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->restored.acted, (model::CommandNumber{1, 2}));
  EXPECT_TRUE(loaded->restored.in_doubt);
}

// --- What may be done without a store ------------------------------------------------------------

TEST(WithoutStore, NothingIsStartedAndNothingIsReplacedButWhatIsNotWantedIsStopped) {
  const model::WantedRecord wanted = a_wanted_record();
  const model::InstanceKey gone{model::ItemId("gone"), model::SubjectId("vehicle"), 0};
  const agent::Start start{wanted.spec, {{1, 17}, 0}, {}};
  const agent::Stop replaced{wanted.spec.key, wanted.spec.runtime, {{1, 2}, 0}};
  const agent::Stop unwanted{gone, wanted.spec.runtime, {{1, 3}, 0}};
  agent::Effects effects;
  effects.writes = {agent::WriteWanted{wanted.spec.key, wanted},
                    agent::WriteWanted{gone, std::nullopt}};
  effects.actions = {start, replaced, unwanted};
  const Permitted permitted = permitted_without_store(effects, "no room");
  EXPECT_EQ(permitted.actions, std::vector<agent::Action>{unwanted});
  ASSERT_EQ(permitted.refused.size(), 2U);
  EXPECT_EQ(std::get<agent::StartFailed>(permitted.refused[0]).problem.reason, "StoreNotWritable");
  EXPECT_EQ(std::get<agent::StopWithheld>(permitted.refused[1]).run, replaced.run);
}

}  // namespace
}  // namespace berth::agentd
