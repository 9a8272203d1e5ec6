#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/history.h"
#include "store/sqlite/database.h"
#include "store/sqlite/stamp.h"
#include "store/store.h"

namespace berth::store {

// A store in one SQLite file. Each commit is one transaction in a write-ahead log that is synced
// before it returns; the log is folded into the file when it has grown, and on closing. While
// nothing is committed nothing is written. The file is for its owner only, and for one process at a
// time. Used by one thread.
//
// It checks itself: each record has a checksum that is verified whenever it is read, and opening
// walks over all records and compares them with the stamp. So it finds bits that have flipped, and
// pages that were lost or are those of yesterday. Whether all of the file is of yesterday only
// others can tell: see open_or_recover. A file of the first format, which has none of this, gets it
// when it is opened, or with its first commit if there is no room for it now.
class SqliteStore final : public Store {
 public:
  // Makes the file if there is none; its directory must be there. Unavailable if another process
  // has it open; Damaged if it is no store of ours, or not what was written; InvalidInput if a
  // newer program wrote it.
  static Result<SqliteStore> open(const std::filesystem::path& path);
  // The same, but a file without a store in it is Damaged too.
  static Result<SqliteStore> open_existing(const std::filesystem::path& path);
  // Only to read, with what its log holds; both are as they were afterwards.
  static Result<SqliteStore> inspect(const std::filesystem::path& path);
  // Only to read: the file is as it was afterwards. What its log holds does not count.
  static Result<SqliteStore> look_at(const std::filesystem::path& path);

  SqliteStore(SqliteStore&&) noexcept;
  SqliteStore& operator=(SqliteStore&&) noexcept;
  ~SqliteStore() override;

  // Exhausted if the disk is full.
  Result<void> commit_if(const std::optional<Fence>& fence,
                         const std::vector<Change>& batch) override;
  Result<std::optional<std::string>> get(std::string_view key) const override;
  Result<std::vector<Entry>> list(std::string_view prefix) const override;
  Result<Revision> revision() const override { return stamp_.sequence; }
  // Of what was committed since it was opened: nothing is written for it.
  Result<std::optional<std::vector<Commit>>> changes_since(Revision revision) const override;

  const Stamp& stamp() const { return stamp_; }
  bool can_write() const { return can_write_; }

  // From here on it is another history, which takes the place of `succeeds`.
  Result<void> begin_history(std::uint64_t succeeds);

  // The bytes of a file that holds the same.
  Result<std::string> image() const { return database_.image(); }

 private:
  using Statement = Database::Statement;

  explicit SqliteStore(Database database);

  // The steps of opening.
  enum class IfEmpty { Make, Refuse };
  static Result<SqliteStore> open(const std::filesystem::path& path, Database::Access access,
                                  IfEmpty if_empty);
  Result<void> prepare_transactions();
  Result<void> find_format(IfEmpty if_empty);
  Result<void> make_format();
  Result<void> upgrade();
  Result<void> make_stamp(const Stamp& stamp);
  Result<void> prepare_statements();
  Result<void> check_contents();

  Result<void> have_checksums();
  Result<void> check(const Fence& fence) const;
  // All of what the function does, or nothing.
  Result<void> in_transaction(const auto& what);
  Result<void> apply(const Change& change, Stamp& stamp);
  Result<std::optional<std::uint64_t>> checksum_of(std::string_view key) const;
  Result<std::string_view> value_at(sqlite3_stmt* statement, std::string_view key) const;
  Result<void> write_stamp(sqlite3_stmt* statement, const Stamp& stamp) const;

  Database database_;
  Stamp stamp_;
  History history_{0};  // up to the stamp
  bool can_write_ = true;
  bool has_checksums_ = true;  // else it is of the first format
  Statement begin_;
  Statement commit_;
  Statement roll_back_;
  Statement put_;
  Statement erase_;
  Statement checksum_of_;
  Statement write_stamp_;
  Statement get_;
  Statement list_between_;
  Statement list_from_;
};

// What can still be read of a store, whatever is wrong with it. Files are left as they are.
struct Salvage {
  std::optional<Stamp> stamp = {};
  std::vector<Entry> readable = {};
  std::vector<std::string> unreadable = {};  // keys, as far as they can be read themselves
};
Salvage salvage(const std::filesystem::path& path);

// A number that no other history has.
std::uint64_t new_history();

}  // namespace berth::store
