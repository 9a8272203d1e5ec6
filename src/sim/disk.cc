#include "sim/disk.h"

#include "base/check.h"
#include "sim/draw.h"

namespace berth::sim {

Duration Disk::latency() { return slow_ ? draw(random_, 50ms, 3s) : draw(random_, 200us, 8ms); }

Result<void> Disk::commit(const std::vector<store::Change>& batch) {
  if (full_) disk_.fail_next_write();
  return store_.commit(batch);
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

void Disk::fall_back() {
  lose(0);
  std::vector<store::Change> changes;
  for (const store::Entry& entry : remembered_) changes.push_back({entry.key, entry.value});
  CHECK(store_.commit(changes).has_value(), "memory can be written");
}

void Disk::crash_in(const std::vector<store::Change>& batch) {
  if (full_ || !store_.stage(batch)) return;
  disk_.cut_power(random_.below(2));
}

}  // namespace berth::sim
