#include "store/history.h"

#include "base/check.h"

namespace berth::store {
namespace {

std::size_t size_of(const Commit& commit) {
  std::size_t size = sizeof(Commit);
  for (const Change& change : commit.changes) {
    size += sizeof(Change) + change.key.size() + (change.value ? change.value->size() : 0);
  }
  return size;
}

}  // namespace

void History::add(Revision revision, const std::vector<Change>& changes) {
  CHECK(revision == newest_ + 1, "commits are counted one by one");
  newest_ = revision;
  commits_.push_back({revision, changes});
  bytes_ += size_of(commits_.back());
  while (!commits_.empty() && (commits_.size() > limits_.commits || bytes_ > limits_.bytes)) {
    bytes_ -= size_of(commits_.front());
    commits_.pop_front();
  }
}

std::optional<std::vector<Commit>> History::since(Revision revision) const {
  const Revision known_since = newest_ - commits_.size();
  if (revision < known_since || revision > newest_) return std::nullopt;
  const auto first = commits_.begin() + static_cast<std::ptrdiff_t>(revision - known_since);
  return std::vector<Commit>(first, commits_.end());
}

}  // namespace berth::store
