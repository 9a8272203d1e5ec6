#include "store/sqlite/testing.h"

namespace berth::store {
namespace {

// --- Last good states

class Kept : public testing::Test {
 protected:
  static constexpr KeptStore::Times kOnClosingOnly{.moment = 1h, .apart = 1h};

  OpenedStore open() {
    auto opened = open_or_recover(path_, {}, kOnClosingOnly);
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  StoreOrigin::Kind commit(const std::string& value) {
    const OpenedStore opened = open();
    EXPECT_TRUE(opened.store->commit({{"a", value}}));
    return opened.origin.kind;
  }
  std::string value() { return open().store->get("a").value().value_or("none"); }

  // As after a kill: the store with its log, and not closed. The good state of closing stays.
  void crash_after(const std::string& last) {
    const fs::path copy = directory_ / "copy.db";
    {
      const OpenedStore opened = open();
      EXPECT_TRUE(opened.store->commit({{"a", last}}));
      fs::copy(path_, copy, fs::copy_options::overwrite_existing);
      fs::copy(wal_of(path_), wal_of(copy), fs::copy_options::overwrite_existing);
    }
    fs::rename(copy, path_);
    fs::rename(wal_of(copy), wal_of(path_));
  }
  void crash_without_good_state_after(const std::string& last) {
    crash_after(last);
    fs::remove(good_states_of(path_).front());
  }

  TemporaryDirectory directory_;
  fs::path path_ = directory_ / "store.db";
};

using enum StoreOrigin::Kind;

TEST_F(Kept, AStoreIsFreshOnceAndThenAsItWasLeft) {
  EXPECT_EQ(commit("1"), Fresh);
  EXPECT_EQ(commit("2"), AsLeft);
  EXPECT_EQ(value(), "2");
}

TEST_F(Kept, ThreeStatesAreKeptAndTheNewestHasAll) {
  for (int i = 1; i <= 6; ++i) commit(std::to_string(i));
  const auto states = good_states_of(path_);
  ASSERT_EQ(states.size(), 3U);
  EXPECT_EQ(SqliteStore::look_at(states[0]).value().get("a").value(), "6");
  EXPECT_EQ(SqliteStore::look_at(states[2]).value().get("a").value(), "4");
  EXPECT_EQ(fs::status(states[0]).permissions(), fs::perms(0600));
}

TEST_F(Kept, NoStateIsWrittenWhileNothingChanges) {
  commit("1");
  const auto states = good_states_of(path_);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(value(), "1");
  EXPECT_EQ(good_states_of(path_), states);
}

TEST_F(Kept, AStateIsWrittenAMomentAfterAChange) {
  const auto opened = open_or_recover(path_, {}, {.moment = 1ms, .apart = 1ms});
  ASSERT_TRUE(opened->store->commit({{"a", "1"}}));
  const auto is_kept = [this] {
    const auto newest = newest_good_state(path_);
    return newest && newest->stamp.sequence == 1;
  };
  while (!is_kept()) std::this_thread::yield();
}

TEST_F(Kept, ABackupIsTheStoreAsItIs) {
  const OpenedStore opened = open();
  ASSERT_TRUE(opened.store->commit({{"a", "1"}}));
  write(directory_ / "backup", opened.backup->image().value());
  EXPECT_EQ(SqliteStore::look_at(directory_ / "backup").value().get("a").value(), "1");
}

TEST_F(Kept, WhateverIsLostOfTheFileTheNewestGoodStateIsUsed) {
  const std::map<std::string, std::function<void()>> kDamages{
      {"gone", [this] { fs::remove(path_); }},
      {"empty", [this] { write(path_, ""); }},
      {"halved", [this] { write(path_, contents_of(path_).substr(0, 5000)); }},
      {"garbage", [this] { write(path_, std::string(9000, 'x')); }},
      {"a record that has changed",
       [this] { run_sql(path_, "UPDATE entries SET value = CAST('9' AS BLOB)"); }},
      {"a sequence that has changed", [this] { run_sql(path_, "UPDATE stamp SET sequence = 9"); }},
      {"no records", [this] { run_sql(path_, "DELETE FROM entries"); }},
  };
  int number = 0;
  for (const auto& [name, damage] : kDamages) {
    SCOPED_TRACE(name);
    const std::string expected = std::to_string(++number);
    commit(expected);
    damage();
    const bool is_there = fs::exists(path_);
    const OpenedStore opened = open();
    EXPECT_EQ(opened.origin.kind, Recovered);
    EXPECT_EQ(opened.store->get("a").value(), expected);
    EXPECT_EQ(fs::exists(opened.origin.recovery.set_aside), is_there);
    EXPECT_TRUE(contains(describe(opened.origin), "last good state")) << describe(opened.origin);
  }
}

TEST_F(Kept, AfterAKillNothingIsLost) {
  commit("1");
  crash_without_good_state_after("2");
  EXPECT_EQ(value(), "2");
}

TEST_F(Kept, AStoreWithoutItsLogIsBehindAndTheGoodStateIsUsed) {
  commit("1");
  crash_after("2");
  fs::remove(wal_of(path_));
  const OpenedStore opened = open();
  EXPECT_EQ(opened.origin.kind, Recovered);
  EXPECT_EQ(opened.store->get("a").value(), "2");
}

// SQLite itself takes what is whole of it.
TEST_F(Kept, ALogThatIsHalvedOrScrambledIsBehindToo) {
  commit("1");
  for (const bool halved : {true, false}) {
    crash_after(halved ? "2" : "3");
    std::string log = contents_of(wal_of(path_));
    write(wal_of(path_), halved ? log.substr(0, log.size() / 2) : log.replace(40, 4096, 4096, 'x'));
    const OpenedStore opened = open();
    EXPECT_EQ(opened.origin.kind, Recovered);
    EXPECT_EQ(opened.store->get("a").value(), halved ? "2" : "3");
  }
}

TEST_F(Kept, AnOlderFileIsSetAsideForTheNewerGoodState) {
  commit("1");
  const std::string old = contents_of(path_);
  commit("2");
  write(path_, old);
  const OpenedStore opened = open();
  EXPECT_EQ(opened.origin.kind, Recovered);
  EXPECT_EQ(opened.store->get("a").value(), "2");
  const std::string told = describe(opened.origin);
  EXPECT_TRUE(contains(told, "its last commit is number 1")) << told;
  EXPECT_TRUE(contains(told, "store.db.damaged-1")) << told;
  EXPECT_EQ(contents_of(directory_ / "store.db.damaged-1"), old);
}

// The next who opens it finds it as it was left.
TEST_F(Kept, AGoodStateThatIsUsedHasTheMarkFromTheFirstMomentOn) {
  commit("1");
  write(path_, "");
  { ASSERT_TRUE(open_or_recover(path_, {}, kOnClosingOnly, {{"mark", ""}})); }
  const OpenedStore opened = open();
  EXPECT_EQ(opened.origin.kind, AsLeft);
  EXPECT_EQ(opened.store->get("a").value(), "1");
  EXPECT_TRUE(opened.store->get("mark").value());
}

TEST_F(Kept, AStoreThatIsAsItWasLeftGetsNoMark) {
  commit("1");
  const auto opened = open_or_recover(path_, {}, kOnClosingOnly, {{"mark", ""}});
  ASSERT_TRUE(opened);
  EXPECT_FALSE(opened->store->get("mark").value());
}

TEST_F(Kept, AFileOfAnotherUnitIsSetAside) {
  commit("1");
  ASSERT_TRUE(open_or_die(directory_ / "other.db").commit({{"a", "other"}}));
  fs::rename(directory_ / "other.db", path_);
  const OpenedStore opened = open();
  EXPECT_EQ(opened.origin.kind, Recovered);
  EXPECT_EQ(opened.store->get("a").value(), "1");
}

// Two histories that were one once must not be taken for each other.
TEST_F(Kept, WhatWasSetAsideCannotComeBackUnnoticed) {
  commit("1");
  crash_without_good_state_after("2");
  const std::string newer_log = contents_of(wal_of(path_));
  const std::string newer = contents_of(path_);
  fs::remove(path_);
  fs::remove(wal_of(path_));
  commit("3");
  write(path_, newer);
  write(wal_of(path_), newer_log);
  EXPECT_EQ(value(), "3");
}

TEST_F(Kept, WhatIsLostIsTold) {
  commit("1");
  commit("2");
  crash_without_good_state_after("3");
  run_sql(path_, "UPDATE entries SET value = CAST('9' AS BLOB)");
  const OpenedStore opened = open();
  const std::string told = describe(opened.origin);
  EXPECT_TRUE(contains(told, "1 commit lost; unreadable: a;")) << told;
}

TEST_F(Kept, ADamagedGoodStateIsPassedOver) {
  commit("1");
  commit("2");
  write(good_states_of(path_).front(), "x");
  fs::remove(path_);
  EXPECT_EQ(value(), "1");
}

TEST_F(Kept, WithoutAGoodStateTheStoreIsEmptyAndThatIsTold) {
  for (const char* bytes : {"", "garbage"}) {
    write(path_, bytes);
    {
      const OpenedStore opened = open();
      EXPECT_EQ(opened.origin.kind, EmptyAfterDamage);
      EXPECT_TRUE(opened.store->list("").value().empty());
      EXPECT_TRUE(contains(describe(opened.origin), "it is empty now"));
    }
    for (const fs::path& state : good_states_of(path_)) fs::remove(state);
  }
}

TEST_F(Kept, ASetAsideStoreTellsThatThereWasOne) {
  write(directory_ / "store.db.damaged-1", "x");
  EXPECT_EQ(open().origin.kind, EmptyAfterDamage);
}

TEST_F(Kept, WhatIsSetAsideIsBounded) {
  for (int i = 0; i < 12; ++i) {
    write(path_, "garbage " + std::to_string(i));
    open();
  }
  std::size_t count = 0;
  for (const auto& file : fs::directory_iterator(directory_.path())) {
    if (contains(file.path().string(), "damaged-")) ++count;
  }
  EXPECT_EQ(count, kSetAsideMax);
  EXPECT_EQ(contents_of(directory_ / "store.db.damaged-1"), "garbage 0");
}

TEST_F(Kept, ARestoredStoreIsNotTakenForAnOldOne) {
  commit("1");
  write(directory_ / "backup", contents_of(path_));
  commit("2");
  const std::uint64_t succeeds = newest_good_state(path_).value().stamp.history;
  const auto aside = put_in_place(directory_ / "backup", path_, succeeds, "replaced");
  ASSERT_TRUE(aside) << aside.error().message;
  EXPECT_EQ(SqliteStore::look_at(*aside).value().get("a").value(), "2");
  const OpenedStore opened = open();
  EXPECT_EQ(opened.origin.kind, AsLeft);
  EXPECT_EQ(opened.store->get("a").value(), "1");
}

TEST_F(Kept, AStoreOfANewerProgramIsLeftAsItIs) {
  commit("1");
  run_sql(path_, "PRAGMA user_version = 9; UPDATE stamp SET checksum = 1");
  const std::string bytes = contents_of(path_);
  EXPECT_EQ(open_or_recover(path_).error().code, Code::InvalidInput);
  EXPECT_EQ(contents_of(path_), bytes);
}

TEST_F(Kept, AStoreThatThisProcessUsesIsLeftAsItIs) {
  const OpenedStore opened = open();
  EXPECT_EQ(open_or_recover(path_).error().code, Code::Unavailable);
  EXPECT_TRUE(opened.store->commit({{"a", "1"}}));
}

TEST_F(Kept, AStoreThatAnotherProcessUsesIsLeftAsItIs) {
  commit("1");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto store = SqliteStore::open(path_);
    const char byte = store ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1) _exit(1);
    pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(is_in_use(path_));
  EXPECT_EQ(open_or_recover(path_).error().code, Code::Unavailable);
  EXPECT_FALSE(has_damaged_beside(path_));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_in_use(path_));
  EXPECT_EQ(value(), "1");
}

// Its log is there as after a kill, and is not.
TEST(KeptOnASmallDisk, ADiskThatTakesNoWriteHasAStoreToRead) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting a small file system needs root";
  for (const bool has_log : {true, false}) {
    const SmallDisk disk;
    if (!disk.mounted()) GTEST_SKIP() << "a small file system cannot be mounted here";
    const fs::path path = disk.path() / "store.db";
    {
      SqliteStore store = open_or_die(disk.path() / "first.db");
      ASSERT_TRUE(store.commit({{"a", "1"}}));
      fs::copy(disk.path() / "first.db", path);
      fs::copy(wal_of(disk.path() / "first.db"), wal_of(path));
      fs::permissions(path, fs::perms(0600));
    }
    if (!has_log) open_or_die(path);
    ASSERT_EQ(mount("", disk.path().c_str(), "", MS_REMOUNT | MS_RDONLY, "size=1m"), 0);
    const auto opened = open_or_recover(path);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->origin.kind, AsLeft);
    EXPECT_EQ(opened->store->get("a").value(), "1");
    EXPECT_FALSE(opened->store->commit({{"b", "2"}}));
    ASSERT_EQ(mount("", disk.path().c_str(), "", MS_REMOUNT, "size=1m"), 0);
    EXPECT_TRUE(opened->store->commit({{"b", "2"}}));
    EXPECT_EQ(opened->store->list("").value().size(), 2U);
  }
}

TEST(KeptOnASmallDisk, AGoodStateTakesNoRoomThatTheStoreNeeds) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting a small file system needs root";
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "a small file system cannot be mounted here";
  std::atomic<int> told = 0;
  const fs::path path = disk.path() / "store.db";
  {
    const auto opened =
        open_or_recover(path, [&](const Error* why) { told += why != nullptr ? 1 : 0; },
                        {.moment = 1h, .apart = 1h});
    ASSERT_TRUE(opened->store->commit({{"a", std::string(250'000, 'x')}}));
  }
  EXPECT_EQ(told, 1);
  const auto newest = newest_good_state(path);
  EXPECT_TRUE(!newest || newest->stamp.sequence == 0);
  EXPECT_EQ(open_or_die(path).list("").value().size(), 1U);
}

}  // namespace
}  // namespace berth::store
