#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/hash_index.h"
#include "base/time.h"

namespace berth {

// Who was heard of when, for many that should be heard of again and again: in the order of their
// last report, so that those who are overdue are found without looking at the others. All who are
// in it may be silent for equally long; who is allowed more belongs to another one. Nothing can be
// told from the order of hashes.
template <class Key>
class Monitor {
 public:
  // It has reported now, or is watched from now on. O(1). REQUIRES: time does not go back.
  void touch(const Key& key, Time now) {
    CHECK(reports_.empty() || reports_.back().second <= now, "time does not go back");
    if (const auto* known = index_.find(key)) {
      (*known)->second = now;
      reports_.splice(reports_.end(), reports_, *known);
    } else {
      index_.add(reports_.emplace(reports_.end(), key, now));
    }
  }

  // It is not watched any more, if it was. O(1).
  void forget(const Key& key) {
    if (const auto* known = index_.find(key)) erase(*known);
  }

  // Those who have been silent for that long, the longest first; they are forgotten here. O(1) for
  // each of them.
  std::vector<Key> take_stale(Time now, Duration patience) {
    std::vector<Key> stale;
    while (!reports_.empty() && now - reports_.front().second >= patience) {
      stale.push_back(reports_.front().first);
      erase(reports_.begin());
    }
    return stale;
  }

  // When the first of them will have been, if nothing is heard of it. O(1).
  std::optional<Time> next(Duration patience) const {
    if (reports_.empty()) return std::nullopt;
    return reports_.front().second + patience;
  }

  std::optional<Time> last_report(const Key& key) const {
    const auto* known = index_.find(key);
    return known == nullptr ? std::nullopt : std::optional((*known)->second);
  }
  std::size_t size() const { return reports_.size(); }

 private:
  using Reports = std::list<std::pair<const Key, Time>>;
  using Entry = typename Reports::iterator;

  void erase(Entry entry) {
    index_.erase(entry->first);
    reports_.erase(entry);
  }

  Reports reports_;
  HashIndex<Key, Entry> index_;
};

}  // namespace berth
