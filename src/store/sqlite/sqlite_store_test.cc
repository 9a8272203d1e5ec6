#include "store/sqlite/sqlite_store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <thread>

#include "store/conformance.h"
#include "store/sqlite/kept_store.h"
#include "store/sqlite/store_files.h"

namespace berth::store {
namespace {

namespace fs = std::filesystem;

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string made = (fs::temp_directory_path() / "sqlite_store_test.XXXXXX").string();
    EXPECT_NE(mkdtemp(made.data()), nullptr);
    path_ = made;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  fs::path operator/(std::string_view name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

SqliteStore open_or_die(const fs::path& path) {
  auto store = SqliteStore::open(path);
  EXPECT_TRUE(store) << store.error().message;
  return std::move(*store);
}

fs::path wal_of(const fs::path& path) { return log_of(path); }

std::string contents_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void write(const fs::path& path, std::string_view contents) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
}

void poke(const fs::path& path, std::size_t at, char byte) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(at)).put(byte);
}

// While it lives no file can grow: as on a full disk, and nobody needs to be root.
class NoRoom {
 public:
  NoRoom() {
    previous_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &previous_);
    const rlimit none{1, previous_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~NoRoom() {
    setrlimit(RLIMIT_FSIZE, &previous_);
    std::signal(SIGXFSZ, previous_handler_);
  }

 private:
  rlimit previous_{};
  void (*previous_handler_)(int) = nullptr;
};

// The store, whose next commit can be made to fail.
class Unreliable final : public Store {
 public:
  explicit Unreliable(const fs::path& path) : store_(open_or_die(path)) {}

  void fail_next_commit() { fails_ = true; }

  Result<void> commit_if(const std::optional<Fence>& fence,
                         const std::vector<Change>& batch) override {
    if (!std::exchange(fails_, false)) return store_.commit_if(fence, batch);
    const NoRoom no_room;
    return store_.commit_if(fence, batch);
  }
  Result<std::optional<std::string>> get(std::string_view key) const override {
    return store_.get(key);
  }
  Result<std::vector<Entry>> list(std::string_view prefix) const override {
    return store_.list(prefix);
  }
  Result<Revision> revision() const override { return store_.revision(); }
  Result<std::optional<std::vector<Commit>>> changes_since(Revision revision) const override {
    return store_.changes_since(revision);
  }

 private:
  SqliteStore store_;
  bool fails_ = false;
};

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

// As somebody else would, who knows SQLite.
void run_sql(const fs::path& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

struct Opened {
  Code code = Code::Internal;
  std::string message;
};

Opened refusal_of(const fs::path& path) {
  const auto opened = SqliteStore::open(path);
  EXPECT_FALSE(opened);
  return opened ? Opened{} : Opened{opened.error().code, opened.error().message};
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

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

std::vector<Change> many_entries() {
  std::vector<Change> batch;
  for (int i = 0; i < 2000; ++i) {
    batch.push_back(
        {"key/" + std::to_string(i), std::string(100, static_cast<char>('a' + i % 26))});
  }
  return batch;
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
class SmallDisk {
 public:
  SmallDisk() : mounted_(mount("tmpfs", path().c_str(), "tmpfs", 0, "size=1m") == 0) {}
  ~SmallDisk() {
    if (mounted_) umount(path().c_str());
  }

  bool mounted() const { return mounted_; }
  const fs::path& path() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
  bool mounted_;
};

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

// --- It checks itself

std::vector<Change> some_entries() {
  std::vector<Change> batch;
  for (int i = 0; i < 60; ++i) {
    batch.push_back({"key/" + std::to_string(i), "value " + std::to_string(i * i)});
  }
  return batch;
}

TEST(SqliteStore, ABitThatFlipsAnywhereIsFoundOrDoesNoHarm) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  ASSERT_TRUE(open_or_die(path).commit(some_entries()));
  const std::string whole = contents_of(path);
  const std::vector<Entry> entries = open_or_die(path).list("").value();
  int found = 0;
  for (std::size_t at = 0; at < whole.size(); at += at < 200 ? 1 : 7) {
    poke(path, at, static_cast<char>(whole[at] ^ (1 << (at % 8))));
    const auto looked = SqliteStore::look_at(path);
    if (looked) {
      ASSERT_EQ(looked->list("").value(), entries) << "byte " << at;
    } else {
      EXPECT_EQ(looked.error().code, Code::Damaged) << "byte " << at << looked.error().message;
      ++found;
    }
    poke(path, at, whole[at]);
  }
  EXPECT_GT(found, 300) << "the others are where nothing is";
}

TEST(SqliteStore, AHeaderThatHasChangedIsDamagedAndNothingElse) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  ASSERT_TRUE(open_or_die(path).commit(some_entries()));
  const std::string whole = contents_of(path);
  for (std::size_t at = 0; at < 100; ++at) {
    write(path, whole);
    poke(path, at, static_cast<char>(whole[at] ^ 4));
    const auto opened = SqliteStore::open_existing(path);
    if (opened) continue;
    EXPECT_EQ(opened.error().code, Code::Damaged) << at << opened.error().message;
  }
}

// A page that was never written, or is that of yesterday, holds records with good checksums.
TEST(SqliteStore, PagesOfYesterdayAreFound) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  ASSERT_TRUE(open_or_die(path).commit(many_entries()));
  const std::string yesterday = contents_of(path);
  std::vector<Change> batch;
  for (int i = 0; i < 2000; i += 10) {
    batch.push_back({"key/" + std::to_string(i), std::string(100, 'Z')});
  }
  ASSERT_TRUE(open_or_die(path).commit(batch));
  const std::string today = contents_of(path);
  ASSERT_EQ(today.size(), yesterday.size());
  for (std::size_t at = 0; at < today.size(); at += 4096) {
    if (today.compare(at, 4096, yesterday, at, 4096) == 0) continue;
    std::string bytes = today;
    bytes.replace(at, 4096, yesterday, at, 4096);
    write(path, bytes);
    EXPECT_EQ(SqliteStore::look_at(path).error().code, Code::Damaged) << "page " << at / 4096;
  }
}

TEST(SqliteStore, ARecordThatSomebodyElseHasChangedIsNamed) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  ASSERT_TRUE(open_or_die(path).commit(some_entries()));
  run_sql(path,
          "UPDATE entries SET value = CAST('other' AS BLOB) WHERE key = CAST('key/7' AS BLOB)");
  const Opened refused = refusal_of(path);
  EXPECT_EQ(refused.code, Code::Damaged);
  EXPECT_TRUE(contains(refused.message, "key/7 is not what was written")) << refused.message;
  const Salvage salvaged = salvage(path);
  EXPECT_EQ(salvaged.unreadable, std::vector<std::string>{"key/7"});
  EXPECT_EQ(salvaged.readable.size(), 59U);
  EXPECT_EQ(salvaged.stamp.value().sequence, 1U);
}

TEST(SqliteStore, ARecordThatIsMissingIsFound) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  ASSERT_TRUE(open_or_die(path).commit(some_entries()));
  run_sql(path, "DELETE FROM entries WHERE key = CAST('key/7' AS BLOB)");
  EXPECT_TRUE(contains(refusal_of(path).message, "59 records, and 60 were written"));
}

TEST(SqliteStore, TheStampTellsHowManyCommitsThereWereAndWhatIsThere) {
  const TemporaryDirectory directory;
  SqliteStore one = open_or_die(directory / "one.db");
  SqliteStore other = open_or_die(directory / "other.db");
  ASSERT_TRUE(one.commit({{"a", "1"}, {"b", "2"}, {"c", "3"}}));
  ASSERT_TRUE(one.commit({}));
  ASSERT_TRUE(one.commit({{"c", std::nullopt}, {"a", "4"}, {"d", std::nullopt}}));
  ASSERT_TRUE(other.commit({{"b", "2"}, {"a", "4"}}));
  EXPECT_EQ(one.stamp().sequence, 2U);
  EXPECT_EQ(other.stamp().sequence, 1U);
  EXPECT_EQ(one.stamp().count, 2U);
  EXPECT_EQ(one.stamp().digest, other.stamp().digest);
  EXPECT_NE(one.stamp().history, other.stamp().history);
  const Stamp stamp = one.stamp();
  one = open_or_die(directory / "third.db");
  EXPECT_EQ(open_or_die(directory / "one.db").stamp(), stamp);
}

// A file as the first release has written it.
void write_first_format(const fs::path& path) {
  run_sql(path,
          "PRAGMA journal_mode = WAL; CREATE TABLE entries (key BLOB PRIMARY KEY NOT NULL, value "
          "BLOB NOT NULL) WITHOUT ROWID, STRICT; PRAGMA application_id = 1114797160; PRAGMA "
          "user_version = 1; INSERT INTO entries VALUES (CAST('a' AS BLOB), CAST('1' AS BLOB)), "
          "(CAST('b' AS BLOB), x'');");
}

TEST(SqliteStore, AFileOfTheFirstFormatGetsChecksums) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  write_first_format(path);
  const std::vector<Entry> entries{{"a", "1"}, {"b", ""}};
  EXPECT_EQ(SqliteStore::look_at(path).value().list("").value(), entries);
  EXPECT_EQ(open_or_die(path).list("").value(), entries);
  run_sql(path, "UPDATE entries SET value = CAST('2' AS BLOB) WHERE key = CAST('a' AS BLOB)");
  EXPECT_EQ(refusal_of(path).code, Code::Damaged);
}

TEST(SqliteStore, AFileOfTheFirstFormatOpensOnAFullDiskAndGetsChecksumsLater) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  write_first_format(path);
  std::optional<SqliteStore> store;
  {
    const NoRoom no_room;
    store = open_or_die(path);
    EXPECT_EQ(store->get("a").value(), "1");
    EXPECT_EQ(store->commit({{"c", "3"}}).error().code, Code::Exhausted);
    EXPECT_EQ(store->list("").value().size(), 2U);
  }
  ASSERT_TRUE(store->commit({{"c", "3"}}));
  EXPECT_EQ(store->stamp().sequence, 1U);
  store.reset();
  EXPECT_EQ(open_or_die(path).list("").value(),
            (std::vector<Entry>{{"a", "1"}, {"b", ""}, {"c", "3"}}));
}

TEST(SqliteStore, AnInspectionLeavesFileAndLogAsTheyAre) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "store.db";
  const fs::path copy = directory / "copy.db";
  {
    SqliteStore store = open_or_die(path);
    ASSERT_TRUE(store.commit(some_entries()));
    fs::copy(path, copy);
    fs::copy(wal_of(path), wal_of(copy));
  }
  const std::string file = contents_of(copy);
  const std::string log = contents_of(wal_of(copy));
  EXPECT_EQ(SqliteStore::inspect(copy).value().list("").value().size(), 60U);
  EXPECT_EQ(salvage(copy).readable.size(), 60U);
  EXPECT_TRUE(contents_of(copy) == file);
  EXPECT_TRUE(contents_of(wal_of(copy)) == log);
}

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
