#include "store/sqlite/database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "store/sqlite/checksum.h"
#include "store/sqlite/store_files.h"

namespace berth::store {
namespace {

namespace fs = std::filesystem;

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

// As statements call it: berth_checksum(key, value).
void checksum_function(sqlite3_context* context, int, sqlite3_value** values) {
  const auto bytes = [](sqlite3_value* value) {
    const void* data = sqlite3_value_blob(value);
    return std::string_view(static_cast<const char*>(data),
                            static_cast<std::size_t>(sqlite3_value_bytes(value)));
  };
  const std::uint64_t sum = checksum(bytes(values[0]), bytes(values[1]));
  sqlite3_result_int64(context, static_cast<sqlite3_int64>(sum));
}

// Characters that mean something in a URI are not meant so in a path.
std::string immutable_uri(const fs::path& path) {
  std::string uri = "file:";
  for (const char c : fs::absolute(path).string()) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02X}", static_cast<unsigned>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }
void Database::Close::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Database::Database(fs::path path, sqlite3* database)
    : path_(std::move(path)), database_(database) {}

Result<Database> Database::open(const fs::path& path, Access access) {
  sqlite3* opened = nullptr;
  const int failed =
      access == Access::Look
          ? sqlite3_open_v2(immutable_uri(path).c_str(), &opened,
                            SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr)
          : sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                            nullptr);
  Database database(path, opened);
  if (failed != SQLITE_OK) return database.last_error();
  const bool only_reads = sqlite3_db_readonly(opened, "main") == 1;
  if (access != Access::Look && only_reads && ::access(path.c_str(), W_OK) != 0) {
    return Error{Code::Unavailable,
                 fmt::format("{} cannot be written: {}", path.string(), std::strerror(errno))};
  }
  sqlite3_extended_result_codes(opened, 1);
  const int made = sqlite3_create_function_v2(
      opened, "berth_checksum", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, nullptr,
      checksum_function, nullptr, nullptr, nullptr);
  CHECK(made == SQLITE_OK, "a function of ours can be added");
  if (access == Access::Untouched) {
    sqlite3_db_config(opened, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  if (access != Access::Look) TRY(database.lock());
  TRY(database.ask("PRAGMA temp_store = MEMORY"));
  TRY(database.ask("PRAGMA cell_size_check = ON"));
  return database;
}

// Exclusive from the first access on: SQLite then needs no memory shared between processes, and
// keeps its lock until the file is closed.
Result<void> Database::lock() {
  TRY(ask("PRAGMA locking_mode = EXCLUSIVE"));
  const auto mode = ask("PRAGMA journal_mode = WAL");
  const int number = mode ? SQLITE_OK : sqlite3_errcode(database_.get());
  if ((number & 0xff) == SQLITE_BUSY) {
    return Error{Code::Unavailable,
                 path_.string() + " is in use by another process; end that first"};
  }
  // The file system lets us: it is the file that says that it must not be written.
  if (number == SQLITE_READONLY && ::access(path_.c_str(), W_OK) == 0) {
    return damaged("its header is not ours");
  }
  const std::string got = TRY(mode);
  if (got != "wal") {
    return Error{Code::Unavailable, path_.string() + ": this file system allows no safe writing"};
  }
  TRY(ask("PRAGMA synchronous = FULL"));
  return {};
}

Result<Database::Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* made = nullptr;
  const int failed = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &made, nullptr);
  // Our statements are right; so the tables are not ours.
  if ((failed & 0xff) == SQLITE_ERROR) return damaged(sqlite3_errmsg(database_.get()));
  if (failed != SQLITE_OK) return last_error();
  return Statement(made);
}

Result<bool> Database::step(sqlite3_stmt* statement) const {
  errno = 0;  // see last_error
  const int result = sqlite3_step(statement);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return last_error();
}

Result<std::string> Database::ask(std::string_view sql) const {
  const Statement statement = TRY(prepare(sql));
  std::string answer;
  if (!TRY(step(statement.get()))) return answer;
  const unsigned char* text = sqlite3_column_text(statement.get(), 0);
  if (text != nullptr) answer = reinterpret_cast<const char*>(text);
  while (TRY(step(statement.get()))) continue;
  return answer;
}

bool Database::in_transaction() const { return sqlite3_get_autocommit(database_.get()) == 0; }

Result<std::string> Database::image() const {
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(database_.get(), "main", &size, 0);
  if (bytes == nullptr) {
    return Error{Code::Unavailable, path_.string() + " cannot be copied: no memory, or not read"};
  }
  std::string image(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  return image;
}

// Why a write failed SQLite remembers for most statements, but not for COMMIT.
Error Database::last_error() const {
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

Error Database::damaged(std::string_view what) const {
  return {Code::Damaged,
          fmt::format("{} is damaged: {}. {}", path_.string(), what, ways_out(path_))};
}

Use::~Use() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

// A null pointer would become a NULL.
void bind_bytes(sqlite3_stmt* statement, int at, std::string_view bytes) {
  const char* data = bytes.data() == nullptr ? "" : bytes.data();
  const int bound = sqlite3_bind_blob64(statement, at, data, bytes.size(), SQLITE_STATIC);
  CHECK(bound == SQLITE_OK || bound == SQLITE_TOOBIG, "our statements have these parameters");
}

void bind_number(sqlite3_stmt* statement, int at, std::uint64_t number) {
  const int bound = sqlite3_bind_int64(statement, at, static_cast<sqlite3_int64>(number));
  CHECK(bound == SQLITE_OK, "our statements have these parameters");
}

std::string_view bytes_at(sqlite3_stmt* statement, int column) {
  const void* data = sqlite3_column_blob(statement, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
  return data == nullptr ? std::string_view()
                         : std::string_view(static_cast<const char*>(data), size);
}

std::uint64_t number_at(sqlite3_stmt* statement, int column) {
  return static_cast<std::uint64_t>(sqlite3_column_int64(statement, column));
}

}  // namespace berth::store
