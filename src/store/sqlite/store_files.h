#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// The files of a store, and what lies beside them:
//
//   berthd.db, berthd.db-wal    the store, and its write-ahead log
//   berthd.db.good-7            a last good state: a whole store; the greatest number is the newest
//   berthd.db.damaged-1         what was set aside because it could not be used, with its log
//   berthd.db.replaced-1        what was set aside because somebody put a backup in its place
namespace berth::store {

bool is_full(int system_error);

std::filesystem::path log_of(const std::filesystem::path& store);

// Makes the file if there is none. Never readable for others; what SQLite puts beside it gets the
// same mode. An existing one is not opened: closing it would give up the locks that this process
// may have on it.
Result<void> make_private_file(const std::filesystem::path& path);

// Whether an empty file can be made beside it.
bool takes_files(const std::filesystem::path& store);

// Whether there is not a byte of it. A log alone does not count: SQLite drops it.
bool is_nothing(const std::filesystem::path& store);

// Newest first.
std::vector<std::filesystem::path> good_states_of(const std::filesystem::path& store);
// Where the next one goes.
std::filesystem::path next_good_state_of(const std::filesystem::path& store);
inline constexpr std::size_t kGoodStatesMax = 3;

// Whether a damaged one was set aside before.
bool has_damaged_beside(const std::filesystem::path& store);

// Renames the file and its log to STORE.WORD-N, and gives that name; "" if there was nothing. What
// was set aside is never deleted, but for the last of many: a disk that goes on damaging stores
// must not be filled by them.
inline constexpr std::size_t kSetAsideMax = 9;
Result<std::filesystem::path> set_aside(const std::filesystem::path& store, std::string_view word);

// Durable when it returns, and readable by the owner only. The file is whole, or is not there.
Result<void> write_whole(const std::filesystem::path& path, std::string_view bytes);

// As if its daemon had made it: root may be at work for another user.
void give_to_owner_of_directory(const std::filesystem::path& path);

// Replaces `to`; durable when it returns.
Result<void> rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

// The whole file.
Result<std::string> read_whole(const std::filesystem::path& path);

// Whether another process has locked the store. REQUIRES: this one has not.
bool is_in_use(const std::filesystem::path& store);

// For messages: what to do about a store that is damaged.
std::string ways_out(const std::filesystem::path& store);
// The message without them, for who has found one already.
std::string without_ways_out(const std::string& message);
// For messages: a key, whatever bytes it has.
std::string printable(std::string_view key);

}  // namespace berth::store
