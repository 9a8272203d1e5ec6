#include "store/sqlite/sqlite_store.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "store/sqlite/checksum.h"
#include "store/sqlite/store_files.h"

namespace berth::store {
namespace {

namespace fs = std::filesystem;

// "Brth": tells our files from those of other programs.
constexpr int kApplicationId = 0x42727468;
constexpr int kFormat = 2;
constexpr int kFormatWithoutChecksums = 1;

constexpr std::string_view kReadStamp =
    "SELECT history, succeeds, sequence, count, digest, checksum FROM stamp";
constexpr std::string_view kWriteStamp =
    "INSERT OR REPLACE INTO stamp (id, history, succeeds, sequence, count, digest, checksum) "
    "VALUES (0, ?, ?, ?, ?, ?, ?)";

// The format is in it too: a number in the header that has changed by itself is found so.
std::uint64_t checksum_of(const Stamp& stamp) {
  return checksum(std::array<std::uint64_t, 6>{kFormat, stamp.history, stamp.succeeds,
                                               stamp.sequence, stamp.count, stamp.digest});
}

// What sorts right behind everything that starts with the prefix; nullopt: nothing does.
std::optional<std::string> end_of(std::string_view prefix) {
  const std::size_t last = prefix.find_last_not_of('\xff');
  if (last == prefix.npos) return std::nullopt;
  std::string end(prefix.substr(0, last + 1));
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

Result<Stamp> read_stamp(const Database& database) {
  const Database::Statement read = TRY(database.prepare(kReadStamp));
  if (!TRY(database.step(read.get()))) return database.damaged("its stamp is missing");
  const Stamp stamp{.history = number_at(read.get(), 0),
                    .succeeds = number_at(read.get(), 1),
                    .sequence = number_at(read.get(), 2),
                    .count = number_at(read.get(), 3),
                    .digest = number_at(read.get(), 4)};
  if (number_at(read.get(), 5) != checksum_of(stamp)) {
    return database.damaged("its stamp is not what was written");
  }
  return stamp;
}

}  // namespace

std::uint64_t new_history() {
  std::uint64_t number = 0;
  while (number == 0) {
    const ssize_t drawn = getrandom(&number, sizeof number, 0);
    CHECK(drawn == sizeof number, "the kernel gives so few random bytes at once");
  }
  return number;
}

SqliteStore::SqliteStore(SqliteStore&&) noexcept = default;
SqliteStore& SqliteStore::operator=(SqliteStore&&) noexcept = default;
SqliteStore::~SqliteStore() = default;
SqliteStore::SqliteStore(Database database) : database_(std::move(database)) {}

Result<SqliteStore> SqliteStore::open(const fs::path& path) {
  TRY(make_private_file(path));
  return open(path, Database::Access::Alone, IfEmpty::Make);
}

Result<SqliteStore> SqliteStore::open_existing(const fs::path& path) {
  TRY(make_private_file(path));
  return open(path, Database::Access::Alone, IfEmpty::Refuse);
}

Result<SqliteStore> SqliteStore::inspect(const fs::path& path) {
  return open(path, Database::Access::Untouched, IfEmpty::Refuse);
}

Result<SqliteStore> SqliteStore::look_at(const fs::path& path) {
  return open(path, Database::Access::Look, IfEmpty::Refuse);
}

Result<SqliteStore> SqliteStore::open(const fs::path& path, Database::Access access,
                                      IfEmpty if_empty) {
  Database database = TRY(Database::open(path, access));
  SqliteStore store(std::move(database));
  store.can_write_ = access == Database::Access::Alone;
  TRY(store.prepare_transactions());
  TRY(store.find_format(if_empty));
  if (!store.has_checksums_ && access == Database::Access::Alone) {
    const auto upgraded = store.upgrade();
    if (!upgraded && upgraded.error().code != Code::Exhausted) return upgraded.error();
  }
  TRY(store.prepare_statements());
  TRY(store.check_contents());
  store.history_ = History(store.stamp_.sequence);
  return store;
}

Result<void> SqliteStore::prepare_transactions() {
  begin_ = TRY(database_.prepare("BEGIN IMMEDIATE"));
  commit_ = TRY(database_.prepare("COMMIT"));
  roll_back_ = TRY(database_.prepare("ROLLBACK"));
  return {};
}

Result<void> SqliteStore::find_format(IfEmpty if_empty) {
  const std::string found = TRY(database_.ask("PRAGMA quick_check(1)"));
  if (found != "ok") return database_.damaged(found);
  const std::string owner = TRY(database_.ask("PRAGMA application_id"));
  const std::string format = TRY(database_.ask("PRAGMA user_version"));
  const std::string tables = TRY(database_.ask("SELECT count(*) FROM sqlite_schema"));
  if (owner == "0" && format == "0" && tables == "0") {
    if (if_empty == IfEmpty::Refuse) return database_.damaged("there is nothing in it");
    return make_format();
  }
  if (owner != std::to_string(kApplicationId)) {
    return database_.damaged("it is not a store of berth");
  }
  const bool has_stamp = read_stamp(database_).has_value();
  has_checksums_ = has_stamp || format != std::to_string(kFormatWithoutChecksums);
  if (format == std::to_string(kFormat) || !has_checksums_) return {};
  if (has_stamp) return database_.damaged("its header says that its format is " + format);
  return invalid_input(fmt::format(
      "{} was written by a newer program: its format is {}, and this program knows {}. Use that "
      "program, or a backup of an earlier one: berth store restore FILE --directory {}",
      database_.path().string(), format, kFormat, database_.path().parent_path().string()));
}

// One transaction: a file is either empty or complete.
Result<void> SqliteStore::make_format() {
  return in_transaction([this]() -> Result<void> {
    TRY(
        database_.ask("CREATE TABLE entries (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL, "
                      "checksum INTEGER NOT NULL) WITHOUT ROWID, STRICT"));
    TRY(database_.ask(fmt::format("PRAGMA application_id = {}", kApplicationId)));
    return make_stamp({.history = new_history()});
  });
}

// What is there is taken for what was written: nothing tells otherwise.
Result<void> SqliteStore::upgrade() {
  const auto add_all = [this]() -> Result<void> {
    TRY(database_.ask("ALTER TABLE entries ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0"));
    TRY(database_.ask("UPDATE entries SET checksum = berth_checksum(key, value)"));
    const Statement all = TRY(database_.prepare("SELECT checksum FROM entries"));
    Stamp stamp{.history = new_history()};
    for (; TRY(database_.step(all.get())); ++stamp.count) stamp.digest += number_at(all.get(), 0);
    return make_stamp(stamp);
  };
  TRY(in_transaction(add_all));
  has_checksums_ = true;
  return {};
}

Result<void> SqliteStore::make_stamp(const Stamp& stamp) {
  TRY(
      database_.ask("CREATE TABLE stamp (id INTEGER PRIMARY KEY, history INTEGER NOT NULL, "
                    "succeeds INTEGER NOT NULL, sequence INTEGER NOT NULL, count INTEGER NOT NULL, "
                    "digest INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT"));
  const Statement write = TRY(database_.prepare(kWriteStamp));
  TRY(write_stamp(write.get(), stamp));
  TRY(database_.ask(fmt::format("PRAGMA user_version = {}", kFormat)));
  return {};
}

Result<void> SqliteStore::prepare_statements() {
  const std::string_view sum = has_checksums_ ? "checksum" : "berth_checksum(key, value)";
  const std::string select = fmt::format("SELECT value, {}, key FROM entries", sum);
  get_ = TRY(database_.prepare(select + " WHERE key = ?"));
  list_between_ = TRY(database_.prepare(select + " WHERE key >= ? AND key < ? ORDER BY key"));
  list_from_ = TRY(database_.prepare(select + " WHERE key >= ? ORDER BY key"));
  if (!has_checksums_) return {};
  checksum_of_ = TRY(database_.prepare("SELECT checksum FROM entries WHERE key = ?"));
  put_ = TRY(
      database_.prepare("INSERT OR REPLACE INTO entries (key, value, checksum) VALUES (?, ?, ?)"));
  erase_ = TRY(database_.prepare("DELETE FROM entries WHERE key = ?"));
  write_stamp_ = TRY(database_.prepare(kWriteStamp));
  return {};
}

Result<void> SqliteStore::check_contents() {
  Stamp found;
  {
    const Use use(list_from_.get());
    bind_bytes(list_from_.get(), 1, std::string_view());
    while (TRY(database_.step(list_from_.get()))) {
      TRY(value_at(list_from_.get(), bytes_at(list_from_.get(), 2)));
      found.digest += number_at(list_from_.get(), 1);
      ++found.count;
    }
  }
  stamp_ = found;
  if (has_checksums_) stamp_ = TRY(read_stamp(database_));
  if (stamp_.count != found.count) {
    return database_.damaged(
        fmt::format("it has {} records, and {} were written", found.count, stamp_.count));
  }
  if (stamp_.digest != found.digest) {
    return database_.damaged("some of its records are those of an earlier time");
  }
  return {};
}

Result<void> SqliteStore::in_transaction(const auto& what) {
  const auto all = [&]() -> Result<void> {
    const Use begin(begin_.get());
    TRY(database_.step(begin_.get()));
    TRY(what());
    const Use commit(commit_.get());
    TRY(database_.step(commit_.get()));
    return {};
  };
  const Result<void> done = all();
  // SQLite has already rolled back after some errors, and not after others.
  if (!done && database_.in_transaction()) {
    const Use use(roll_back_.get());
    std::ignore = database_.step(roll_back_.get());
    CHECK(!database_.in_transaction(), "rolling back needs no disk");
  }
  return done;
}

Result<void> SqliteStore::check(const Fence& fence) const {
  const auto value = TRY(get(fence.key));
  if (value == fence.value) return {};
  return Error{Code::Conflict,
               "another has the store now: " + printable(fence.key) + " has changed"};
}

Result<void> SqliteStore::commit_if(const std::optional<Fence>& fence,
                                    const std::vector<Change>& batch) {
  if (fence) TRY(check(*fence));
  if (batch.empty()) return {};
  TRY(have_checksums());
  Stamp next = stamp_;
  ++next.sequence;
  const auto apply_all = [&]() -> Result<void> {
    for (const Change& change : batch) TRY(apply(change, next));
    return write_stamp(write_stamp_.get(), next);
  };
  TRY(in_transaction(apply_all));
  stamp_ = next;
  history_.add(stamp_.sequence, batch);
  return {};
}

Result<std::optional<std::vector<Commit>>> SqliteStore::changes_since(Revision revision) const {
  return history_.since(revision);
}

// When there was no room for them on opening.
Result<void> SqliteStore::have_checksums() {
  if (has_checksums_) return {};
  TRY(upgrade());
  TRY(prepare_statements());
  stamp_ = TRY(read_stamp(database_));
  history_ = History(stamp_.sequence);
  return {};
}

Result<void> SqliteStore::begin_history(std::uint64_t succeeds) {
  TRY(have_checksums());
  Stamp next = stamp_;
  next.history = new_history();
  next.succeeds = succeeds;
  TRY(in_transaction([&] { return write_stamp(write_stamp_.get(), next); }));
  stamp_ = next;
  return {};
}

Result<void> SqliteStore::apply(const Change& change, Stamp& stamp) {
  const auto before = TRY(checksum_of(change.key));
  if (before) {
    stamp.digest -= *before;
    --stamp.count;
  }
  if (!before && !change.value) return {};
  sqlite3_stmt* statement = change.value ? put_.get() : erase_.get();
  const Use use(statement);
  bind_bytes(statement, 1, change.key);
  if (change.value) {
    const std::uint64_t sum = checksum(change.key, *change.value);
    bind_bytes(statement, 2, *change.value);
    bind_number(statement, 3, sum);
    stamp.digest += sum;
    ++stamp.count;
  }
  TRY(database_.step(statement));
  return {};
}

Result<std::optional<std::uint64_t>> SqliteStore::checksum_of(std::string_view key) const {
  const Use use(checksum_of_.get());
  bind_bytes(checksum_of_.get(), 1, key);
  if (!TRY(database_.step(checksum_of_.get()))) return std::optional<std::uint64_t>();
  return std::optional(number_at(checksum_of_.get(), 0));
}

Result<void> SqliteStore::write_stamp(sqlite3_stmt* statement, const Stamp& stamp) const {
  const Use use(statement);
  int at = 0;
  for (const std::uint64_t number : {stamp.history, stamp.succeeds, stamp.sequence, stamp.count,
                                     stamp.digest, store::checksum_of(stamp)}) {
    bind_number(statement, ++at, number);
  }
  TRY(database_.step(statement));
  return {};
}

// Of the row that the statement is at, verified.
Result<std::string_view> SqliteStore::value_at(sqlite3_stmt* statement,
                                               std::string_view key) const {
  const std::string_view value = bytes_at(statement, 0);
  if (checksum(key, value) == number_at(statement, 1)) return value;
  return database_.damaged(printable(key) + " is not what was written");
}

Result<std::optional<std::string>> SqliteStore::get(std::string_view key) const {
  const Use use(get_.get());
  bind_bytes(get_.get(), 1, key);
  if (!TRY(database_.step(get_.get()))) return std::optional<std::string>();
  const std::string_view value = TRY(value_at(get_.get(), key));
  return std::optional(std::string(value));
}

Result<std::vector<Entry>> SqliteStore::list(std::string_view prefix) const {
  const auto end = end_of(prefix);
  sqlite3_stmt* statement = end ? list_between_.get() : list_from_.get();
  const Use use(statement);
  bind_bytes(statement, 1, prefix);
  if (end) bind_bytes(statement, 2, *end);
  std::vector<Entry> entries;
  while (TRY(database_.step(statement))) {
    const std::string_view key = bytes_at(statement, 2);
    const std::string_view value = TRY(value_at(statement, key));
    entries.push_back({std::string(key), std::string(value)});
  }
  return entries;
}

namespace {

// Goes over the records in one direction, for as long as that is possible.
void walk(const Database& database, std::string_view direction, Salvage& found,
          std::set<std::string, std::less<>>& seen) {
  const bool has_checksums = database.prepare("SELECT checksum FROM entries").has_value();
  const auto rows = database.prepare(
      fmt::format("SELECT value, {}, key FROM entries ORDER BY key {}",
                  has_checksums ? "checksum" : "berth_checksum(key, value)", direction));
  if (!rows) return;
  while (database.step(rows->get()).value_or(false)) {
    const std::string_view key = bytes_at(rows->get(), 2);
    const std::string_view value = bytes_at(rows->get(), 0);
    if (!seen.emplace(key).second) continue;
    if (checksum(key, value) == number_at(rows->get(), 1)) {
      found.readable.push_back({std::string(key), std::string(value)});
    } else {
      found.unreadable.push_back(printable(key));
    }
  }
}

}  // namespace

Salvage salvage(const fs::path& path) {
  Salvage found;
  const auto database = Database::open(path, Database::Access::Untouched);
  if (!database) return found;
  if (const auto stamp = read_stamp(*database)) found.stamp = *stamp;
  std::set<std::string, std::less<>> seen;
  for (const std::string_view direction : {"ASC", "DESC"}) {
    walk(*database, direction, found, seen);
  }
  return found;
}

}  // namespace berth::store
