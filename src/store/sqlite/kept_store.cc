#include "store/sqlite/kept_store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "store/sqlite/store_files.h"

namespace berth::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMebibyte = 1 << 20;
constexpr std::size_t kKeysNamedMax = 20;

// A copy must not take the room that the store itself needs to go on.
Result<void> check_room(const fs::path& store, std::size_t size) {
  struct statvfs found {};
  const fs::path directory = store.has_parent_path() ? store.parent_path() : fs::path(".");
  if (statvfs(directory.c_str(), &found) != 0) return {};
  if (found.f_bavail * found.f_frsize >= 4 * size) return {};
  return Error{Code::Exhausted,
               fmt::format("{}: the disk has too little room for a last good state of {} bytes",
                           store.string(), size)};
}

Result<void> write_good_state(const fs::path& store, const std::string& image) {
  TRY(check_room(store, image.size()));
  const fs::path next = next_good_state_of(store);
  const fs::path unproven = store.string() + ".unproven";
  TRY(write_whole(unproven, image));
  // What the disk has done to a store that is open shows here, before an older one goes for it.
  const auto looked = SqliteStore::look_at(unproven);
  if (!looked) {
    std::error_code ignored;
    fs::remove(unproven, ignored);
    return looked.error();
  }
  TRY(rename_durably(unproven, next));
  const auto all = good_states_of(store);
  std::error_code ignored;
  for (std::size_t i = kGoodStatesMax; i < all.size(); ++i) fs::remove(all[i], ignored);
  return {};
}

Duration time_apart(const KeptStore::Times& times, std::size_t size) {
  return times.apart * std::max<std::int64_t>(1, static_cast<std::int64_t>(size / kMebibyte));
}

std::string counted(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string text_of_lost(const Recovery& recovery) {
  const auto& stamp = recovery.found.stamp;
  std::string text;
  if (stamp && recovery.used && stamp->history == recovery.used->history &&
      stamp->sequence > recovery.used->sequence) {
    text = counted(stamp->sequence - recovery.used->sequence, "commit") + " lost";
  } else if (stamp && !recovery.used) {
    text = fmt::format("it had seen {}", counted(stamp->sequence, "commit"));
  }
  const std::vector<std::string>& keys = recovery.found.unreadable;
  if (keys.empty()) return text;
  const std::size_t named = std::min(keys.size(), kKeysNamedMax);
  text +=
      fmt::format("{}unreadable: {}", text.empty() ? "" : "; ",
                  fmt::join(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(named), ", "));
  if (named < keys.size()) text += fmt::format(" and {} more", keys.size() - named);
  return text;
}

}  // namespace

// --- Last good states

KeptStore::KeptStore(fs::path path, SqliteStore store, std::optional<Stamp> newest,
                     Listener listener, Times times)
    : path_(std::move(path)),
      listener_(std::move(listener)),
      times_(times),
      store_(std::move(store)),
      next_(Clock::now()) {
  if (newest != store_.stamp()) due_ = Clock::now();
  is_opening_ = due_.has_value();
  thread_ = std::thread([this] { run(); });
}

KeptStore::~KeptStore() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

Result<void> KeptStore::commit_if(const std::optional<Fence>& fence,
                                  const std::vector<Change>& batch) {
  const std::lock_guard lock(mutex_);
  if (!store_.can_write()) TRY(open_for_writing());
  const std::uint64_t before = store_.stamp().sequence;
  TRY(store_.commit_if(fence, batch));
  if (due_ || store_.stamp().sequence == before) return {};
  due_ = std::max(Clock::now() + times_.moment, next_);
  changed_.notify_one();
  return {};
}

// When the disk has taken no write on opening.
Result<void> KeptStore::open_for_writing() {
  SqliteStore opened = TRY(SqliteStore::open_existing(path_));
  if (opened.stamp() != store_.stamp()) {
    return Error{Code::Conflict, path_.string() + " has been changed by another; start again"};
  }
  store_ = std::move(opened);
  return {};
}

Result<std::optional<std::string>> KeptStore::get(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  return store_.get(key);
}

Result<std::vector<Entry>> KeptStore::list(std::string_view prefix) const {
  const std::lock_guard lock(mutex_);
  return store_.list(prefix);
}

Result<Revision> KeptStore::revision() const {
  const std::lock_guard lock(mutex_);
  return store_.revision();
}

Result<std::optional<std::vector<Commit>>> KeptStore::changes_since(Revision revision) const {
  const std::lock_guard lock(mutex_);
  return store_.changes_since(revision);
}

Result<std::string> KeptStore::image() const {
  const std::lock_guard lock(mutex_);
  return store_.image();
}

void KeptStore::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!due_) {
      changed_.wait(lock);
    } else if (Clock::now() < *due_) {
      changed_.wait_until(lock, *due_);
    } else {
      keep(lock);
    }
  }
  if (due_) keep(lock);
}

void KeptStore::keep(std::unique_lock<std::mutex>& lock) {
  due_.reset();
  const Result<std::string> image = store_.image();
  lock.unlock();
  const Result<void> kept = image ? write_good_state(path_, *image) : Result<void>(image.error());
  say(kept);
  lock.lock();
  const bool was_opening = std::exchange(is_opening_, false);  // that costs no change its turn
  if (kept && !was_opening) next_ = Clock::now() + time_apart(times_, image->size());
  if (!kept && !stopping_) due_ = Clock::now() + times_.apart;
}

void KeptStore::say(const Result<void>& kept) {
  if (std::exchange(failing_, !kept) == !kept || !listener_) return;
  listener_(kept ? nullptr : &kept.error());
}

std::optional<GoodState> newest_good_state(const fs::path& store) {
  for (const fs::path& path : good_states_of(store)) {
    const auto looked = SqliteStore::look_at(path);
    if (looked) return GoodState{path, looked->stamp()};
  }
  return std::nullopt;
}

// --- Recovery

std::optional<std::string> why_behind(const Stamp& store, const Stamp& good) {
  if (store.history != good.history) {
    if (store.succeeds == good.history) return std::nullopt;
    return "it is not the store that was in use here";
  }
  if (store.sequence < good.sequence) {
    return fmt::format(
        "it is older than its last good state: its last commit is number {}, that "
        "of the good state number {}",
        store.sequence, good.sequence);
  }
  if (store.sequence == good.sequence && store.digest != good.digest) {
    return "its last commit is not the one that was made here";
  }
  return std::nullopt;
}

Result<fs::path> put_in_place(const fs::path& file, const fs::path& store, std::uint64_t succeeds,
                              std::string_view word, const std::vector<Change>& mark) {
  const fs::path next = store.string() + ".next";
  std::error_code ignored;
  fs::remove(log_of(next), ignored);
  const std::string bytes = TRY(read_whole(file));
  TRY(write_whole(next, bytes));
  give_to_owner_of_directory(next);
  {
    SqliteStore opened = TRY(SqliteStore::open_existing(next));
    TRY(opened.begin_history(succeeds));
    TRY(opened.commit(mark));
  }
  const fs::path aside = TRY(set_aside(store, word));
  TRY(rename_durably(next, store));
  return aside;
}

namespace {

// Afterwards there is a store that can be opened, or nothing.
Result<Recovery> recover(const fs::path& path, const std::optional<GoodState>& newest,
                         std::string why, const std::vector<Change>& mark) {
  Recovery recovery{.why = std::move(why)};
  if (!is_nothing(path)) recovery.found = salvage(path);
  if (newest) {
    recovery.used = newest->stamp;
    recovery.used_file = newest->path;
    recovery.set_aside =
        TRY(put_in_place(newest->path, path, newest->stamp.history, "damaged", mark));
  } else {
    recovery.set_aside = TRY(set_aside(path, "damaged"));
  }
  return recovery;
}

// In memory, so that its log can be folded in.
Result<SqliteStore> look_at_copy(const fs::path& path) {
  std::string directory = "/dev/shm/berth-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) {
    return Error{Code::Unavailable, path.string() + ": there is no memory for a copy"};
  }
  const fs::path copy = fs::path(directory) / "store";
  const auto look = [&]() -> Result<SqliteStore> {
    const std::string bytes = TRY(read_whole(path));
    const std::string log = TRY(read_whole(log_of(path)));
    TRY(write_whole(copy, bytes));
    TRY(write_whole(log_of(copy), log));
    { const SqliteStore folded = TRY(SqliteStore::open_existing(copy)); }
    return SqliteStore::look_at(copy);
  };
  auto looked = look();
  std::error_code ignored;
  fs::remove_all(directory, ignored);  // who has it open keeps it
  return looked;
}

// A disk that takes no write at all, not even an empty file, has a store to read all the same.
Result<SqliteStore> open_or_only_read(const fs::path& path) {
  auto opened = SqliteStore::open_existing(path);
  const bool is_out_of_reach = !opened && (opened.error().code == Code::Unavailable ||
                                           opened.error().code == Code::Exhausted);
  if (!is_out_of_reach || takes_files(path)) return opened;
  auto looked = is_nothing(log_of(path)) ? SqliteStore::look_at(path) : look_at_copy(path);
  return looked ? std::move(looked) : std::move(opened);
}

}  // namespace

Result<OpenedStore> open_or_recover(const fs::path& path, KeptStore::Listener listener,
                                    KeptStore::Times times, const std::vector<Change>& mark) {
  const auto newest = newest_good_state(path);
  std::error_code ignored;
  const bool is_there = fs::exists(path, ignored);
  const auto opened_as = [&](SqliteStore store, StoreOrigin origin) {
    const auto stamp = newest ? std::optional(newest->stamp) : std::nullopt;
    auto kept =
        std::make_unique<KeptStore>(path, std::move(store), stamp, std::move(listener), times);
    const Backup* backup = kept.get();
    return OpenedStore{std::move(kept), std::move(origin), backup};
  };
  if (!is_there && !newest && !has_damaged_beside(path)) {
    SqliteStore made = TRY(SqliteStore::open(path));
    return opened_as(std::move(made), {StoreOrigin::Kind::Fresh});
  }
  std::string why = is_there ? "it is empty" : "it is gone";
  if (!is_nothing(path)) {
    auto opened = open_or_only_read(path);
    if (!opened && opened.error().code != Code::Damaged) return opened.error();
    if (opened) {
      const auto behind = newest ? why_behind(opened->stamp(), newest->stamp) : std::nullopt;
      if (!behind) return opened_as(std::move(*opened), {StoreOrigin::Kind::AsLeft});
      why = *behind;
    } else {
      why = without_ways_out(opened.error().message);
    }
  }
  Recovery recovery = TRY(recover(path, newest, std::move(why), mark));
  SqliteStore store = TRY(SqliteStore::open(path));
  using enum StoreOrigin::Kind;
  return opened_as(std::move(store), {newest ? Recovered : EmptyAfterDamage, std::move(recovery)});
}

std::string describe(const StoreOrigin& origin) {
  using enum StoreOrigin::Kind;
  const Recovery& recovery = origin.recovery;
  switch (origin.kind) {
    case Fresh: return "a new store was made";
    case AsLeft: return "the store is as it was left";
    case Recovered:
    case EmptyAfterDamage: break;
  }
  std::string text = "the store could not be used: " + recovery.why + "; ";
  if (recovery.used) {
    text += fmt::format("the last good state {} is used instead, of commit number {}",
                        recovery.used_file.filename().string(), recovery.used->sequence);
  } else {
    text += "there is no last good state, so that it is empty now";
  }
  if (const std::string lost = text_of_lost(recovery); !lost.empty()) text += "; " + lost;
  if (!recovery.set_aside.empty()) {
    text += fmt::format("; what was there is kept as {}", recovery.set_aside.string());
  }
  return text;
}

}  // namespace berth::store
