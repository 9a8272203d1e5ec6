#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace berth::controld {

struct OutboxLimits {
  std::size_t steps = 1'000;
  std::size_t bytes = 32 << 20;    // of changes that are not durable
  std::size_t behind = 128 << 10;  // of those that wait for a commit before them
};

// Says what may leave when. Steps are sealed in their order, each with the changes that it has to
// make durable; a step leaves when those, and those of all steps before it, are. While one commit
// is under way the changes of later steps gather, and are the next one: of each key only the last.
//
// Deterministic: it knows no store, no thread and no time. The loop and the simulator use the same.
template <class Step>
class Outbox {
 public:
  explicit Outbox(OutboxLimits limits = {}) : limits_(limits) {}

  void seal(std::vector<store::Change> changes, Step step) {
    for (store::Change& change : changes) gather(std::move(change));
    steps_.push_back(std::move(step));
    if (gathered_.empty()) (commit_.empty() ? free_ : covered_) = steps_.size();
  }

  // What has to be made durable next; good until the commit has ended. nullptr: nothing has to be,
  // or a commit is under way. After one that has failed it is the same again.
  const std::vector<store::Change>* begin_commit() {
    if (is_under_way_) return nullptr;
    if (commit_.empty()) take_gathered();
    is_under_way_ = !commit_.empty();
    return is_under_way_ ? &commit_ : nullptr;
  }

  // REQUIRES: a commit is under way.
  void commit_failed() { is_under_way_ = false; }
  void commit_done() {
    is_under_way_ = false;
    commit_.clear();
    commit_bytes_ = 0;
    free_ = std::exchange(covered_, 0);
  }

  // The next step whose turn it is.
  std::optional<Step> leave() {
    if (free_ == 0) return std::nullopt;
    --free_;
    if (covered_ > 0) --covered_;
    Step step = std::move(steps_.front());
    steps_.pop_front();
    return step;
  }

  // Whether no step should be sealed until some have left.
  bool is_full() const {
    return steps_.size() >= limits_.steps || bytes_ + commit_bytes_ >= limits_.bytes;
  }
  // Whether much waits for a commit that is under way: whoever looks would wait for both.
  bool is_behind() const { return is_under_way_ && bytes_ >= limits_.behind; }
  bool is_under_way() const { return is_under_way_; }
  // Whether there is something to begin a commit with.
  bool has_changes() const { return !commit_.empty() || !gathered_.empty(); }

  // Those that have not left, oldest first.
  std::deque<Step>& waiting() { return steps_; }

 private:
  void gather(store::Change change) {
    const auto [at, is_new] = gathered_.try_emplace(std::move(change.key));
    bytes_ -= is_new ? 0 : size_of(*at);
    at->second = std::move(change.value);
    bytes_ += size_of(*at);
  }

  void take_gathered() {
    commit_.reserve(gathered_.size());
    while (!gathered_.empty()) {
      auto node = gathered_.extract(gathered_.begin());
      commit_.push_back({std::move(node.key()), std::move(node.mapped())});
    }
    commit_bytes_ = std::exchange(bytes_, 0);
    covered_ = steps_.size();
  }

  static std::size_t size_of(
      const std::pair<const std::string, std::optional<std::string>>& entry) {
    return entry.first.size() + (entry.second ? entry.second->size() : 0);
  }

  OutboxLimits limits_;
  std::deque<Step> steps_;
  std::size_t free_ = 0;     // of the first steps: may leave
  std::size_t covered_ = 0;  // of the first steps: may leave when the commit is durable
  std::map<std::string, std::optional<std::string>> gathered_;
  std::vector<store::Change> commit_;  // under way, or to be tried again
  std::size_t bytes_ = 0;              // of what has gathered
  std::size_t commit_bytes_ = 0;
  bool is_under_way_ = false;
};

}  // namespace berth::controld
