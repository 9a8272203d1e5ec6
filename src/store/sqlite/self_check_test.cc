#include "store/sqlite/testing.h"

namespace berth::store {
namespace {

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

}  // namespace
}  // namespace berth::store
