#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/time.h"

namespace berth {

// Durations come from outsiders too; within these bounds they can be added to a Time safely.
constexpr Duration bounded(Duration wait) {
  return std::clamp(wait, Duration::zero(), Duration(24h * 366));
}

constexpr void take_earlier(std::optional<Time>& earliest, std::optional<Time> candidate) {
  if (candidate && (!earliest || *candidate < *earliest)) earliest = candidate;
}

// When each of many things wants to be looked at: at most one time per key. Finding the next and
// changing one costs O(log n).
template <class Key>
class Alarms {
 public:
  void set(const Key& key, std::optional<Time> at) {
    if (const auto old = times_.find(key); old != times_.end()) {
      if (at == old->second) return;
      queue_.erase({old->second, key});
      times_.erase(old);
    }
    if (!at) return;
    times_.emplace(key, *at);
    queue_.emplace(*at, key);
  }

  // At this time, or at an earlier one that is set already.
  void set_earlier(const Key& key, Time at) {
    const auto known = times_.find(key);
    if (known == times_.end() || at < known->second) set(key, at);
  }

  // Those whose time has come, in order of time; they are forgotten here.
  std::vector<Key> take_due(Time now) {
    std::vector<Key> due;
    while (!queue_.empty() && queue_.begin()->first <= now) {
      due.push_back(queue_.begin()->second);
      times_.erase(due.back());
      queue_.erase(queue_.begin());
    }
    return due;
  }

  std::optional<Time> next() const {
    if (queue_.empty()) return std::nullopt;
    return queue_.begin()->first;
  }

 private:
  std::map<Key, Time> times_;
  std::set<std::pair<Time, Key>> queue_;
};

}  // namespace berth
