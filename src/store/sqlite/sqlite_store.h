#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/store.h"

struct sqlite3;
struct sqlite3_stmt;

namespace berth::store {

// A store in one SQLite file. Each commit is one transaction in a write-ahead log that is synced
// before it returns; the log is folded into the file when it has grown, and on closing. While
// nothing is committed nothing is written. The file is for its owner only, and for one process at a
// time. Used by one thread.
class SqliteStore final : public Store {
 public:
  // Makes the file if there is none; its directory must be there. Unavailable if another process
  // has it open; Damaged if it is no store of ours; InvalidInput if a newer program wrote it.
  static Result<SqliteStore> open(const std::filesystem::path& path);

  SqliteStore(SqliteStore&&) noexcept;
  SqliteStore& operator=(SqliteStore&&) noexcept;
  ~SqliteStore() override;

  // Exhausted if the disk is full.
  Result<void> commit(const std::vector<Change>& batch) override;
  Result<std::optional<std::string>> get(std::string_view key) const override;
  Result<std::vector<Entry>> list(std::string_view prefix) const override;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Close>;

  SqliteStore(std::filesystem::path path, std::unique_ptr<sqlite3, Close> database);

  // The steps of opening.
  Result<void> lock();
  Result<void> check_contents();
  Result<void> make_or_check_format();
  Result<void> prepare_statements();

  Result<Statement> prepare(std::string_view sql) const;
  Result<std::string> ask(std::string_view sql) const;
  Result<bool> step(sqlite3_stmt* statement) const;
  Result<void> apply_all(const std::vector<Change>& batch);
  Error last_error() const;
  Error damaged(std::string_view what) const;

  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Close> database_;
  Statement begin_;
  Statement commit_;
  Statement roll_back_;
  Statement put_;
  Statement erase_;
  Statement get_;
  Statement list_between_;
  Statement list_from_;
};

}  // namespace berth::store
