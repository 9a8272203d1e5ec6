#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/history.h"
#include "store/store.h"

namespace berth::store {

// A simulated disk with the files of one store. It outlives the stores that are opened on it, as a
// disk does. Batches go to it in order and whole; only a sync makes them safe from a power cut.
// Used by one thread.
class MemoryDisk {
 public:
  using Contents = std::map<std::string, std::string, std::less<>>;

  // What a reader sees: everything written, synced or not.
  const Contents& contents() const { return contents_; }

  // Writes a batch, all of it or, after an error, nothing.
  Result<void> write(const std::vector<Change>& batch);
  void sync() { undo_.clear(); }

  // How many batches have changed something.
  Revision revision() const { return revision_; }

  // How many of the last batches a power cut could lose.
  std::size_t unsynced() const { return undo_.size(); }

  // The power is cut: of the unsynced batches the first `kept` have reached the disk, and no other.
  void cut_power(std::size_t kept = 0);

  // The next write fails so, once.
  void fail_next_write(Error error = {Code::Exhausted, "no space left on device"});

 private:
  Contents contents_;
  Revision revision_ = 0;
  std::vector<std::vector<Change>> undo_;  // what takes each unsynced batch back, oldest first
  std::optional<Error> failure_;
};

// A store whose files are on a MemoryDisk, for tests and simulation. It keeps nothing itself but
// the history of what it has committed: a process that dies is a MemoryStore destroyed, its
// successor another one on the same disk, and a power cut is `cut_power` in between.
class MemoryStore final : public Store {
 public:
  // The disk must outlive the store.
  explicit MemoryStore(MemoryDisk& disk) : disk_(disk), history_(disk.revision()) {}

  Result<void> commit_if(const std::optional<Fence>& fence,
                         const std::vector<Change>& batch) override;
  Result<std::optional<std::string>> get(std::string_view key) const override;
  Result<std::vector<Entry>> list(std::string_view prefix) const override;
  Result<Revision> revision() const override { return disk_.revision(); }
  Result<std::optional<std::vector<Commit>>> changes_since(Revision revision) const override;

  // The two halves of a commit, for a simulation that lets time or a power cut come between them.
  Result<void> stage(const std::vector<Change>& batch);
  void sync() { disk_.sync(); }

 private:
  Result<void> check(const Fence& fence) const;

  MemoryDisk& disk_;
  History history_;
};

}  // namespace berth::store
