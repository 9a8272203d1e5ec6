#include "store/memory/memory_store.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "store/conformance.h"

namespace berth::store {
namespace {

// The batch under way when the power is cut is lost, or just made it.
template <std::size_t kKept>
class MemoryHarness {
 public:
  Store& store() { return *store_; }
  void reopen() { store_.emplace(disk_); }
  void crash() {
    disk_.cut_power(disk_.unsynced() == 0 ? 0 : kKept);
    reopen();
  }
  void crash_in(const std::vector<Change>& batch) {
    ASSERT_TRUE(store_->stage(batch));
    crash();
  }
  void fail_next_commit() { disk_.fail_next_write(); }

 private:
  MemoryDisk disk_;
  std::optional<MemoryStore> store_{disk_};
};

using MemoryHarnesses = testing::Types<MemoryHarness<0>, MemoryHarness<1>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreConformance, MemoryHarnesses);

TEST(MemoryStore, AFullDiskIsExhausted) {
  MemoryDisk disk;
  MemoryStore store(disk);
  disk.fail_next_write();
  const auto failed = store.commit({{"a", "1"}});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::Exhausted);
}

TEST(MemoryStore, ADeadProcessLosesNothingThatItWrote) {
  MemoryDisk disk;
  ASSERT_TRUE(MemoryStore(disk).stage({{"a", "1"}}));
  EXPECT_EQ(MemoryStore(disk).get("a").value(), "1");
}

TEST(MemoryStore, APowerCutLosesTheLastUnsyncedBatches) {
  for (std::size_t kept = 0; kept <= 3; ++kept) {
    MemoryDisk disk;
    MemoryStore store(disk);
    ASSERT_TRUE(store.commit({{"a", "0"}}));
    ASSERT_TRUE(store.stage({{"a", "1"}, {"b", "1"}}));
    ASSERT_TRUE(store.stage({{"a", std::nullopt}, {"b", "2"}}));
    ASSERT_TRUE(store.stage({{"a", "3"}, {"a", "4"}, {"c", "3"}}));
    disk.cut_power(kept);
    const std::vector<std::vector<Entry>> expected{
        {{"a", "0"}}, {{"a", "1"}, {"b", "1"}}, {{"b", "2"}}, {{"a", "4"}, {"b", "2"}, {"c", "3"}}};
    EXPECT_EQ(MemoryStore(disk).list("").value(), expected[kept]) << kept;
    EXPECT_EQ(disk.unsynced(), 0U);
  }
}

TEST(MemoryStore, ASyncSavesAllThatWasStagedBefore) {
  MemoryDisk disk;
  MemoryStore store(disk);
  ASSERT_TRUE(store.stage({{"a", "1"}}));
  ASSERT_TRUE(store.stage({{"b", "2"}}));
  EXPECT_EQ(disk.unsynced(), 2U);
  store.sync();
  disk.cut_power();
  EXPECT_EQ(store.list("").value().size(), 2U);
}

}  // namespace
}  // namespace berth::store
