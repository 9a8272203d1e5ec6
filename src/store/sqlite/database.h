#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace berth::store {

// A file as SQLite sees it: statements, and errors that say which file and what to do. It knows no
// tables. Used by one thread.
class Database {
 public:
  struct Close {
    void operator()(sqlite3* database) const;
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Close>;

  enum class Access {
    Alone,      // to read and write; nobody else may
    Untouched,  // the same, but closing leaves the file and its log as they were
    Look,       // only to read what is in the file itself; writes nothing, needs no lock
  };

  // The file must be there. Unavailable if another process has it.
  static Result<Database> open(const std::filesystem::path& path, Access access);

  Result<Statement> prepare(std::string_view sql) const;
  // Whether there is a row.
  Result<bool> step(sqlite3_stmt* statement) const;
  // Runs a statement without parameters; its first value as text, "" if it gives none.
  Result<std::string> ask(std::string_view sql) const;

  bool in_transaction() const;
  // The whole file, as it would be with its log folded in.
  Result<std::string> image() const;

  Error damaged(std::string_view what) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  Database(std::filesystem::path path, sqlite3* database);

  Result<void> lock();
  Error last_error() const;

  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Close> database_;
};

// A statement in use; afterwards it is as new, and holds neither rows nor bytes of ours.
class Use {
 public:
  explicit Use(sqlite3_stmt* statement) : statement_(statement) {}
  ~Use();
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  sqlite3_stmt* statement_;
};

// Bytes must outlive the statement's next step.
void bind_bytes(sqlite3_stmt* statement, int at, std::string_view bytes);
void bind_number(sqlite3_stmt* statement, int at, std::uint64_t number);

// Of the row that the statement is at. Bytes are good until its next step.
std::string_view bytes_at(sqlite3_stmt* statement, int column);
std::uint64_t number_at(sqlite3_stmt* statement, int column);

}  // namespace berth::store
