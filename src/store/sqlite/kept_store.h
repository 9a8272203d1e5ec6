#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "store/backup.h"
#include "store/sqlite/sqlite_store.h"

namespace berth::store {

// A store that keeps its last good states beside itself, by a thread of its own: a few, whole,
// verified before they count. One is written a moment after the first change since the last one,
// but not often: large ones less often than small ones; and on closing. While nothing changes
// nothing is written, and when the disk has little room left neither. Safe to use from any thread.
class KeptStore final : public Store, public Backup {
 public:
  struct Times {
    Duration moment = 10s;
    Duration apart = 10min;  // of a mebibyte; of larger ones so much longer
  };
  // Told when they cannot be kept any more (why), and when they can again (nullptr). Must return
  // quickly.
  using Listener = std::function<void(const Error* why)>;

  // `newest`: the stamp of the newest last good state, if there is any.
  KeptStore(std::filesystem::path path, SqliteStore store, std::optional<Stamp> newest,
            Listener listener, Times times);
  ~KeptStore() override;

  Result<void> commit_if(const std::optional<Fence>& fence,
                         const std::vector<Change>& batch) override;
  Result<std::optional<std::string>> get(std::string_view key) const override;
  Result<std::vector<Entry>> list(std::string_view prefix) const override;
  Result<Revision> revision() const override;
  Result<std::optional<std::vector<Commit>>> changes_since(Revision revision) const override;

  Result<std::string> image() const override;

 private:
  using Clock = std::chrono::steady_clock;

  Result<void> open_for_writing();
  void run();
  void keep(std::unique_lock<std::mutex>& lock);
  void say(const Result<void>& kept);

  const std::filesystem::path path_;
  const Listener listener_;
  const Times times_;
  bool failing_ = false;  // of the thread

  mutable std::mutex mutex_;  // guards what follows
  SqliteStore store_;
  std::condition_variable changed_;
  std::optional<Clock::time_point> due_;  // nullopt: nothing has changed since the last one
  Clock::time_point next_;                // no last good state is written before
  bool is_opening_ = false;               // what is due is the state on opening
  bool stopping_ = false;
  std::thread thread_;  // the last: it uses the others
};

// A store that could not be used as it was.
struct Recovery {
  std::string why;
  std::filesystem::path set_aside = {};  // what was there; empty: nothing was
  Salvage found = {};                    // what can be read of it
  std::optional<Stamp> used = {};        // of the last good state; nullopt: there was none
  std::filesystem::path used_file = {};
};

// Where what a store holds comes from.
struct StoreOrigin {
  enum class Kind {
    Fresh,             // there was none, and nothing tells of an earlier one
    AsLeft,            // it holds all that was ever committed to it, as far as it can know
    Recovered,         // it was damaged or older than a last good state, which is used now
    EmptyAfterDamage,  // it was damaged, and there was no last good state: all is lost
  };
  Kind kind = Kind::AsLeft;
  Recovery recovery = {};  // of the last two

  bool lost_something() const { return kind == Kind::Recovered || kind == Kind::EmptyAfterDamage; }
};

// One sentence for logs and events: what was wrong, what is used now, what is missing.
std::string describe(const StoreOrigin& origin);

struct OpenedStore {
  std::unique_ptr<Store> store;
  StoreOrigin origin;
  const Backup* backup = nullptr;  // by the store itself, as long as that lives
};

// Opens the store, or makes it. If it is damaged, empty or gone, or older than a last good state of
// it (its log was removed, an old file put back, or one of another history), it is set aside, and
// the newest last good state is used; if there is none, an empty store: the caller must look at the
// origin. Errors are only those that leave the store as it is: Unavailable if another process has
// it, InvalidInput if a newer program wrote it, Exhausted if there is no room to recover it. On a
// disk that takes no write at all it is open to be read, and each commit tries again. `mark` is
// what a last good state says in addition once it is used: whoever opens the store next, for the
// first one may die at any moment, finds nothing wrong with it.
Result<OpenedStore> open_or_recover(const std::filesystem::path& path,
                                    KeptStore::Listener listener = {}, KeptStore::Times times = {},
                                    const std::vector<Change>& mark = {});

// The newest of the last good states that is what was written.
struct GoodState {
  std::filesystem::path path;
  Stamp stamp;
};
std::optional<GoodState> newest_good_state(const std::filesystem::path& store);

// Why the store cannot be what was committed last, given a good state of it; nullopt: it can.
std::optional<std::string> why_behind(const Stamp& store, const Stamp& good);

// Puts the file (a good state, a backup) in the place of the store, as a history of its own that
// succeeds the given one, and with the mark in it. What was there is set aside under the word.
// REQUIRES: nobody uses it.
Result<std::filesystem::path> put_in_place(const std::filesystem::path& file,
                                           const std::filesystem::path& store,
                                           std::uint64_t succeeds, std::string_view word,
                                           const std::vector<Change>& mark = {});

}  // namespace berth::store
