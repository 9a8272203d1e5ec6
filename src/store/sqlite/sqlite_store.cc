#include "store/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace berth::store {
namespace {

namespace fs = std::filesystem;

// "Brth": tells our files from those of other programs.
constexpr int kApplicationId = 0x42727468;
constexpr int kFormat = 1;

bool is_full(int system_error) {
  return system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG;
}

Code code_of(int sqlite_error, int system_error) {
  switch (sqlite_error & 0xff) {
    case SQLITE_FULL: return Code::Exhausted;
    case SQLITE_IOERR: return is_full(system_error) ? Code::Exhausted : Code::Unavailable;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return Code::Damaged;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM: return Code::Unavailable;
    case SQLITE_TOOBIG: return Code::InvalidInput;
    default: return Code::Internal;
  }
}

Error file_error(const fs::path& path, std::string_view what) {
  const int number = errno;
  return {is_full(number) ? Code::Exhausted : Code::Unavailable,
          fmt::format("{} cannot be {}: {}", path.string(), what, std::strerror(number))};
}

Result<void> sync_directory(const fs::path& path) {
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && ::fsync(fd) == 0;
  if (!synced) return file_error(directory, "synced");
  ::close(fd);
  return {};
}

// A new file is made here and not by SQLite, so that it is never readable for others; what SQLite
// puts beside it gets the same mode. An existing one is not opened: closing it would give up the
// locks that this process may have on it.
Result<void> make_file(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) {
    ::close(fd);
    return sync_directory(path);
  }
  if (errno != EEXIST) return file_error(path, "made");
  if (::chmod(path.c_str(), 0600) != 0) return file_error(path, "made private");
  return {};
}

// What sorts right behind everything that starts with the prefix; nullopt: nothing does.
std::optional<std::string> end_of(std::string_view prefix) {
  const std::size_t last = prefix.find_last_not_of('\xff');
  if (last == prefix.npos) return std::nullopt;
  std::string end(prefix.substr(0, last + 1));
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

// Bytes must outlive the statement's next step. A null pointer would become a NULL.
void bind_bytes(sqlite3_stmt* statement, int at, std::string_view bytes) {
  const char* data = bytes.data() == nullptr ? "" : bytes.data();
  const int bound = sqlite3_bind_blob64(statement, at, data, bytes.size(), SQLITE_STATIC);
  CHECK(bound == SQLITE_OK || bound == SQLITE_TOOBIG, "our statements have these parameters");
}

std::string column(sqlite3_stmt* statement, int at) {
  const void* data = sqlite3_column_blob(statement, at);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, at));
  return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), size);
}

// A statement in use; afterwards it is as new, and holds neither rows nor bytes of ours.
class Use {
 public:
  explicit Use(sqlite3_stmt* statement) : statement_(statement) {}
  ~Use() {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  sqlite3_stmt* statement_;
};

}  // namespace

void SqliteStore::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }
void SqliteStore::Close::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

SqliteStore::SqliteStore(SqliteStore&&) noexcept = default;
SqliteStore& SqliteStore::operator=(SqliteStore&&) noexcept = default;
SqliteStore::~SqliteStore() = default;

SqliteStore::SqliteStore(fs::path path, std::unique_ptr<sqlite3, Close> database)
    : path_(std::move(path)), database_(std::move(database)) {}

Result<SqliteStore> SqliteStore::open(const fs::path& path) {
  TRY(make_file(path));
  sqlite3* opened = nullptr;
  const int failed =
      sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  SqliteStore store(path, std::unique_ptr<sqlite3, Close>(opened));
  if (failed != SQLITE_OK) return store.last_error();
  sqlite3_extended_result_codes(opened, 1);
  TRY(store.lock());
  TRY(store.check_contents());
  TRY(store.make_or_check_format());
  TRY(store.prepare_statements());
  return store;
}

// Exclusive from the first access on: SQLite then needs no memory shared between processes, and
// keeps its lock until the file is closed.
Result<void> SqliteStore::lock() {
  TRY(ask("PRAGMA locking_mode = EXCLUSIVE"));
  const auto mode = ask("PRAGMA journal_mode = WAL");
  if (!mode && mode.error().code == Code::Unavailable &&
      (sqlite3_errcode(database_.get()) & 0xff) == SQLITE_BUSY) {
    return Error{Code::Unavailable, path_.string() + " is in use by another process"};
  }
  const std::string got = TRY(mode);
  if (got != "wal") {
    return Error{Code::Unavailable, path_.string() + ": this file system allows no safe writing"};
  }
  TRY(ask("PRAGMA synchronous = FULL"));
  TRY(ask("PRAGMA temp_store = MEMORY"));
  TRY(ask("PRAGMA cell_size_check = ON"));
  return {};
}

Result<void> SqliteStore::check_contents() {
  const std::string found = TRY(ask("PRAGMA quick_check(1)"));
  if (found == "ok") return {};
  return damaged(found);
}

Result<void> SqliteStore::make_or_check_format() {
  const std::string owner = TRY(ask("PRAGMA application_id"));
  const std::string format = TRY(ask("PRAGMA user_version"));
  const std::string tables = TRY(ask("SELECT count(*) FROM sqlite_schema"));
  if (owner == "0" && format == "0" && tables == "0") {
    // One transaction: a file is either empty or complete.
    TRY(ask("BEGIN IMMEDIATE"));
    TRY(
        ask("CREATE TABLE entries (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL) "
            "WITHOUT ROWID, STRICT"));
    TRY(ask(fmt::format("PRAGMA application_id = {}", kApplicationId)));
    TRY(ask(fmt::format("PRAGMA user_version = {}", kFormat)));
    TRY(ask("COMMIT"));
    return {};
  }
  if (owner != std::to_string(kApplicationId)) return damaged("it is not a store of berth");
  if (format != std::to_string(kFormat)) {
    return invalid_input(fmt::format(
        "{} was written by a newer program: its format is {}, and this program knows {}",
        path_.string(), format, kFormat));
  }
  return {};
}

Result<void> SqliteStore::prepare_statements() {
  begin_ = TRY(prepare("BEGIN IMMEDIATE"));
  commit_ = TRY(prepare("COMMIT"));
  roll_back_ = TRY(prepare("ROLLBACK"));
  put_ = TRY(prepare("INSERT OR REPLACE INTO entries (key, value) VALUES (?, ?)"));
  erase_ = TRY(prepare("DELETE FROM entries WHERE key = ?"));
  get_ = TRY(prepare("SELECT value FROM entries WHERE key = ?"));
  list_between_ =
      TRY(prepare("SELECT key, value FROM entries WHERE key >= ? AND key < ? ORDER BY key"));
  list_from_ = TRY(prepare("SELECT key, value FROM entries WHERE key >= ? ORDER BY key"));
  return {};
}

Result<void> SqliteStore::commit(const std::vector<Change>& batch) {
  if (batch.empty()) return {};
  const auto done = apply_all(batch);
  // SQLite has already rolled back after some errors, and not after others.
  if (!done && sqlite3_get_autocommit(database_.get()) == 0) {
    const Use use(roll_back_.get());
    sqlite3_step(roll_back_.get());
    CHECK(sqlite3_get_autocommit(database_.get()) != 0, "rolling back needs no disk");
  }
  return done;
}

Result<void> SqliteStore::apply_all(const std::vector<Change>& batch) {
  const Use begin(begin_.get());
  TRY(step(begin_.get()));
  for (const Change& change : batch) {
    sqlite3_stmt* statement = change.value ? put_.get() : erase_.get();
    const Use use(statement);
    bind_bytes(statement, 1, change.key);
    if (change.value) bind_bytes(statement, 2, *change.value);
    TRY(step(statement));
  }
  const Use commit(commit_.get());
  TRY(step(commit_.get()));
  return {};
}

Result<std::optional<std::string>> SqliteStore::get(std::string_view key) const {
  const Use use(get_.get());
  bind_bytes(get_.get(), 1, key);
  if (!TRY(step(get_.get()))) return std::optional<std::string>();
  return std::optional(column(get_.get(), 0));
}

Result<std::vector<Entry>> SqliteStore::list(std::string_view prefix) const {
  const auto end = end_of(prefix);
  sqlite3_stmt* statement = end ? list_between_.get() : list_from_.get();
  const Use use(statement);
  bind_bytes(statement, 1, prefix);
  if (end) bind_bytes(statement, 2, *end);
  std::vector<Entry> entries;
  while (TRY(step(statement))) entries.push_back({column(statement, 0), column(statement, 1)});
  return entries;
}

Result<SqliteStore::Statement> SqliteStore::prepare(std::string_view sql) const {
  sqlite3_stmt* made = nullptr;
  const int failed = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &made, nullptr);
  if (failed != SQLITE_OK) return last_error();
  return Statement(made);
}

// Runs a statement without parameters; its first value as text, "" if it gives none.
Result<std::string> SqliteStore::ask(std::string_view sql) const {
  const Statement statement = TRY(prepare(sql));
  std::string answer;
  if (!TRY(step(statement.get()))) return answer;
  const unsigned char* text = sqlite3_column_text(statement.get(), 0);
  if (text != nullptr) answer = reinterpret_cast<const char*>(text);
  while (TRY(step(statement.get()))) continue;
  return answer;
}

// Whether there is a row.
Result<bool> SqliteStore::step(sqlite3_stmt* statement) const {
  errno = 0;  // see last_error
  const int result = sqlite3_step(statement);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return last_error();
}

// Why a write failed SQLite remembers for most statements, but not for COMMIT.
Error SqliteStore::last_error() const {
  const int errno_left_behind = errno;
  const int number = sqlite3_extended_errcode(database_.get());
  const int remembered = sqlite3_system_errno(database_.get());
  const int system_error = remembered != 0 ? remembered : errno_left_behind;
  const Code code = code_of(number, system_error);
  if (code == Code::Damaged) return damaged(sqlite3_errmsg(database_.get()));
  const bool has_system_error = (number & 0xff) == SQLITE_IOERR && system_error != 0;
  return {code, fmt::format("{}: {}", path_.string(),
                            has_system_error ? std::strerror(system_error)
                                             : sqlite3_errmsg(database_.get()))};
}

Error SqliteStore::damaged(std::string_view what) const {
  return {Code::Damaged,
          fmt::format("{} is damaged: {}. Restore it from a backup, or move it away to begin with "
                      "an empty one",
                      path_.string(), what)};
}

}  // namespace berth::store
