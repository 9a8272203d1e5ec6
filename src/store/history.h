#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "store/store.h"

namespace berth::store {

// The last commits of a store, in memory: what a store that keeps none on disk can tell of its
// past. Bounded. Used by one thread.
class History {
 public:
  struct Limits {
    std::size_t commits = 1'000;
    std::size_t bytes = 1 << 20;
  };

  // Nothing is known of what was before.
  explicit History(Revision now) : History(now, Limits()) {}
  History(Revision now, Limits limits) : limits_(limits), newest_(now) {}

  // REQUIRES: the next one.
  void add(Revision revision, const std::vector<Change>& changes);

  Revision newest() const { return newest_; }
  // See Store::changes_since.
  std::optional<std::vector<Commit>> since(Revision revision) const;

 private:
  Limits limits_;
  Revision newest_;
  std::deque<Commit> commits_;
  std::size_t bytes_ = 0;
};

}  // namespace berth::store
