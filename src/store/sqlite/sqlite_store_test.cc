#include "store/conformance.h"
#include "store/sqlite/testing.h"

namespace berth::store {
namespace {

// A power cut leaves the file and the log as they are at that moment. Of a commit under way some
// percent of what it appends to the log have reached the disk.
template <int kPercent>
class SqliteHarness {
 public:
  Store& store() { return *store_; }
  void reopen() {
    store_.reset();
    store_.emplace(path_);
  }
  void crash() { crash_with(contents_of(wal_of(path_))); }
  void crash_in(const std::vector<Change>& batch) {
    const std::string before = contents_of(wal_of(path_));
    ASSERT_TRUE(store_->commit(batch));
    const std::string after = contents_of(wal_of(path_));
    ASSERT_TRUE(after.starts_with(before) && after.size() > before.size());
    crash_with(after.substr(0, before.size() + (after.size() - before.size()) * kPercent / 100));
  }
  void fail_next_commit() { store_->fail_next_commit(); }

 private:
  void crash_with(const std::string& log) {
    const std::string file = contents_of(path_);
    store_.reset();
    write(path_, file);
    write(wal_of(path_), log);
    store_.emplace(path_);
  }

  TemporaryDirectory directory_;
  fs::path path_ = directory_ / "store.db";
  std::optional<Unreliable> store_{path_};
};

using SqliteHarnesses = testing::Types<SqliteHarness<50>, SqliteHarness<100>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, StoreConformance, SqliteHarnesses);

TEST(SqliteStore, ASecondOpenerIsTold) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  {
    const SqliteStore store = open_or_die(path);
    const Opened refused = refusal_of(path);
    EXPECT_EQ(refused.code, Code::Unavailable);
    EXPECT_TRUE(contains(refused.message, "is in use by another process")) << refused.message;
  }
  EXPECT_TRUE(SqliteStore::open(path));
}

TEST(SqliteStore, AnotherProcessIsToldToo) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  const SqliteStore store = open_or_die(path);
  const pid_t child = fork();
  if (child == 0) {
    const auto opened = SqliteStore::open(path);
    _exit(!opened && contains(opened.error().message, "in use") ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(SqliteStore, FilesAreForTheirOwnerOnly) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  write(path, "");
  fs::permissions(path, fs::perms(0644));
  SqliteStore store = open_or_die(path);
  ASSERT_TRUE(store.commit({{"a", "1"}}));
  for (const auto& file : fs::directory_iterator(directory.path())) {
    EXPECT_EQ(file.status().permissions(), fs::perms(0600)) << file.path();
  }
}

TEST(SqliteStore, AMissingDirectoryIsUnavailable) {
  const TemporaryDirectory directory;
  EXPECT_EQ(refusal_of(directory / "missing/store.db").code, Code::Unavailable);
}

TEST(SqliteStore, GarbageIsDamagedAndSaysWhatToDo) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  write(path, std::string(8192, 'x'));
  const Opened refused = refusal_of(path);
  EXPECT_EQ(refused.code, Code::Damaged);
  for (const char* way : {"berth store check", "berth store repair", "berth store restore"}) {
    EXPECT_TRUE(contains(refused.message, way)) << refused.message;
  }
  EXPECT_EQ(contents_of(path), std::string(8192, 'x')) << "what may be rescued is left as it is";
}

TEST(SqliteStore, ATornFileIsDamaged) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  ASSERT_TRUE(open_or_die(path).commit(many_entries()));
  const std::string whole = contents_of(path);
  ASSERT_GT(whole.size(), 100'000U);
  write(path, whole.substr(0, whole.size() / 2));
  EXPECT_EQ(refusal_of(path).code, Code::Damaged);
}

TEST(SqliteStore, OverwrittenPagesAreDamaged) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  ASSERT_TRUE(open_or_die(path).commit(many_entries()));
  std::string bytes = contents_of(path);
  bytes.replace(4096, 4096, std::string(4096, '\x5a'));
  write(path, bytes);
  EXPECT_EQ(refusal_of(path).code, Code::Damaged);
}

// Whatever a power cut leaves of the log, some first batches are there, whole.
TEST(SqliteStore, ALogCutAnywhereGivesTheFirstBatches) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  std::optional<SqliteStore> store = open_or_die(path);
  for (int i = 0; i < 5; ++i) {
    const std::string number = std::to_string(i);
    ASSERT_TRUE(store->commit({{"a" + number, number}, {"b" + number, std::string(5000, 'x')}}));
  }
  const std::string file = contents_of(path);
  const std::string log = contents_of(wal_of(path));
  store.reset();
  std::size_t last = 0;
  for (std::size_t size = 0; size <= log.size(); size += 1111) {
    const fs::path copy = directory / "copy.db";
    write(copy, file);
    write(wal_of(copy), log.substr(0, size));
    const auto entries = open_or_die(copy).list("").value();
    EXPECT_EQ(entries.size() % 2, 0U);
    EXPECT_GE(entries.size(), last);
    last = entries.size();
  }
  EXPECT_GE(last, 8U);
}

TEST(SqliteStore, AFileOfANewerProgramIsRefused) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  { const SqliteStore store = open_or_die(path); }
  run_sql(path, "PRAGMA user_version = 9; UPDATE stamp SET checksum = 1");
  const Opened refused = refusal_of(path);
  EXPECT_EQ(refused.code, Code::InvalidInput);
  EXPECT_TRUE(contains(refused.message, "newer program: its format is 9")) << refused.message;
}

TEST(SqliteStore, AFileOfAnotherProgramIsNotOurs) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  { const SqliteStore store = open_or_die(path); }
  std::string bytes = contents_of(path);
  bytes[71] = 9;  // application_id
  write(path, bytes);
  EXPECT_EQ(refusal_of(path).code, Code::Damaged);
}

TEST(SqliteStore, AFullDiskIsExhaustedAndTheStoreGoesOn) {
  const TemporaryDirectory directory;
  SqliteStore store = open_or_die(directory / "store.db");
  ASSERT_TRUE(store.commit({{"a", "1"}}));
  {
    const NoRoom no_room;
    const auto failed = store.commit({{"a", "2"}});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Code::Exhausted) << failed.error().message;
    EXPECT_EQ(store.get("a").value(), "1");
  }
  EXPECT_TRUE(store.commit({{"a", "3"}}));
  EXPECT_EQ(store.get("a").value(), "3");
}

// A file system of one mebibyte.

TEST(SqliteStore, AReallyFullDiskIsExhaustedAndTheStoreGoesOn) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting a small file system needs root";
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "a small file system cannot be mounted here";
  const fs::path path = disk.path() / "store.db";
  {
    SqliteStore store = open_or_die(path);
    ASSERT_TRUE(store.commit({{"a", "1"}}));
    const auto failed = store.commit({{"a", "2"}, {"large", std::string(2 << 20, 'x')}});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Code::Exhausted) << failed.error().message;
    EXPECT_EQ(store.get("a").value(), "1");
    ASSERT_TRUE(store.commit({{"b", "2"}}));
  }
  EXPECT_EQ(open_or_die(path).list("").value(), (std::vector<Entry>{{"a", "1"}, {"b", "2"}}));
}

// Number of bytes that this process has given to files.
std::uint64_t written_bytes() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t value = 0;
  while (io >> name >> value) {
    if (name == "wchar:") return value;
  }
  return 0;
}

TEST(SqliteStore, WritesNothingWhileNothingIsCommitted) {
  const TemporaryDirectory directory;
  SqliteStore store = open_or_die(directory / "store.db");
  ASSERT_TRUE(store.commit({{"a", "1"}, {"b", "2"}}));
  const std::uint64_t before = written_bytes();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(store.get("a").value(), "1");
    ASSERT_EQ(store.list("").value().size(), 2U);
    ASSERT_TRUE(store.commit({}));
  }
  EXPECT_LT(written_bytes() - before, 1000U) << "not a byte for each; others may write one or two";
}

TEST(SqliteStore, TheLogIsFoldedInWhenItHasGrown) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  SqliteStore store = open_or_die(path);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(store.commit({{"a", std::string(200'000, static_cast<char>('a' + i % 26))}}));
  }
  EXPECT_LT(fs::file_size(wal_of(path)), 8U << 20);
}

// A process that is killed loses nothing that it was told is durable, and no batch is torn.
TEST(SqliteStore, AKilledProcessLosesNothingAcknowledged) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  int acknowledged[2];
  ASSERT_EQ(pipe(acknowledged), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto store = SqliteStore::open(path);
    for (std::uint32_t i = 1; store; ++i) {
      const std::string number = std::to_string(i);
      if (!store->commit({{"a", number}, {"b", number}, {"c/" + number, ""}})) break;
      if (::write(acknowledged[1], &i, sizeof i) != sizeof i) break;
    }
    _exit(1);
  }
  close(acknowledged[1]);
  std::uint32_t last = 0;
  for (int i = 0; i < 50; ++i) ASSERT_EQ(read(acknowledged[0], &last, sizeof last), 4);
  kill(child, SIGKILL);
  while (read(acknowledged[0], &last, sizeof last) == 4) continue;
  close(acknowledged[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));

  const SqliteStore store = open_or_die(path);
  const std::string found = store.get("a").value().value();
  EXPECT_GE(std::stoul(found), last);
  EXPECT_LE(std::stoul(found), last + 1);
  EXPECT_EQ(store.get("b").value(), found);
  EXPECT_EQ(store.list("c/").value().size(), std::stoul(found));
}

}  // namespace
}  // namespace berth::store
