#include "sim/disk.h"

#include <utility>

#include "base/check.h"
#include "sim/draw.h"

namespace berth::sim {

Duration Disk::latency() {
  if (std::exchange(stalls_, false)) return draw(random_, 3s, 20s);
  return slow_ ? draw(random_, 50ms, 3s) : draw(random_, 200us, 8ms);
}

Result<void> Disk::commit(const std::vector<store::Change>& batch) {
  if (full_) disk_.fail_next_write();
  TRY(store_.stage(batch));
  if (!lies_) store_.sync();
  return {};
}

std::vector<store::Entry> Disk::entries() const {
  const auto listed = store_.list("");
  CHECK(listed.has_value(), "memory can be read");
  return *listed;
}

void Disk::lose(std::uint64_t kept_percent) {
  std::vector<store::Change> losses;
  for (const store::Entry& entry : entries()) {
    if (!draw_percent(random_, kept_percent)) losses.push_back({entry.key, std::nullopt});
  }
  CHECK(store_.commit(losses).has_value(), "memory can be written");
}

void Disk::become(const std::vector<store::Entry>& entries) {
  lose(0);
  std::vector<store::Change> changes;
  for (const store::Entry& entry : entries) changes.push_back({entry.key, entry.value});
  CHECK(store_.commit(changes).has_value(), "memory can be written");
}

void Disk::crash_in(const std::vector<store::Change>& batch) {
  if (full_ || random_.below(2) == 0) return;
  CHECK(commit(batch).has_value(), "there is room");
}

bool Disk::cut_power() {
  if (is_safe()) return true;
  const std::size_t unsafe = disk_.unsynced();
  const std::size_t kept = random_.below(unsafe + 1);
  disk_.cut_power(kept);
  return kept == unsafe;
}

void Disk::heal() {
  full_ = slow_ = stalls_ = lies_ = false;
  store_.sync();
}

}  // namespace berth::sim
