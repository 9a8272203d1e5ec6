#include "store/memory/memory_store.h"

#include <utility>

#include "base/check.h"

namespace berth::store {
namespace {

// Puts the change into effect and returns the one that takes it back.
Change exchange(MemoryDisk::Contents& contents, const Change& change) {
  const auto at = contents.find(change.key);
  if (at == contents.end()) {
    if (change.value) contents.emplace(change.key, *change.value);
    return {change.key, std::nullopt};
  }
  Change back{change.key, std::move(at->second)};
  if (change.value) {
    at->second = *change.value;
  } else {
    contents.erase(at);
  }
  return back;
}

}  // namespace

Result<void> MemoryDisk::write(const std::vector<Change>& batch) {
  if (failure_) return *std::exchange(failure_, std::nullopt);
  std::vector<Change>& undo = undo_.emplace_back();
  undo.reserve(batch.size());
  for (const Change& change : batch) undo.push_back(exchange(contents_, change));
  if (!batch.empty()) ++revision_;
  return {};
}

void MemoryDisk::cut_power(std::size_t kept) {
  CHECK(kept <= undo_.size(), "only what was written can be kept");
  while (undo_.size() > kept) {
    const std::vector<Change>& undo = undo_.back();
    for (auto change = undo.rbegin(); change != undo.rend(); ++change) {
      exchange(contents_, *change);
    }
    if (!undo.empty()) --revision_;
    undo_.pop_back();
  }
  sync();
}

void MemoryDisk::fail_next_write(Error error) { failure_ = std::move(error); }

Result<void> MemoryStore::stage(const std::vector<Change>& batch) {
  if (history_.newest() != disk_.revision()) history_ = History(disk_.revision());
  TRY(disk_.write(batch));
  if (!batch.empty()) history_.add(disk_.revision(), batch);
  return {};
}

Result<void> MemoryStore::check(const Fence& fence) const {
  const auto value = TRY(get(fence.key));
  if (value == fence.value) return {};
  return Error{Code::Conflict, "another has the store now: " + fence.key + " has changed"};
}

Result<void> MemoryStore::commit_if(const std::optional<Fence>& fence,
                                    const std::vector<Change>& batch) {
  if (fence) TRY(check(*fence));
  TRY(stage(batch));
  sync();
  return {};
}

Result<std::optional<std::string>> MemoryStore::get(std::string_view key) const {
  const auto found = disk_.contents().find(key);
  if (found == disk_.contents().end()) return std::optional<std::string>();
  return std::optional(found->second);
}

// The disk may have changed under it: a power cut takes batches back.
Result<std::optional<std::vector<Commit>>> MemoryStore::changes_since(Revision revision) const {
  if (history_.newest() != disk_.revision()) return std::optional<std::vector<Commit>>();
  return history_.since(revision);
}

Result<std::vector<Entry>> MemoryStore::list(std::string_view prefix) const {
  const MemoryDisk::Contents& contents = disk_.contents();
  std::vector<Entry> entries;
  for (auto at = contents.lower_bound(prefix); at != contents.end(); ++at) {
    if (!at->first.starts_with(prefix)) break;
    entries.push_back({at->first, at->second});
  }
  return entries;
}

}  // namespace berth::store
