#include "sim/disk.h"

#include "sim/draw.h"

namespace berth::sim {

Duration Disk::latency() { return slow_ ? draw(random_, 50ms, 3s) : draw(random_, 200us, 8ms); }

Result<void> Disk::commit(const std::vector<store::Change>& batch) {
  if (full_) disk_.fail_next_write();
  return store_.commit(batch);
}

void Disk::crash_in(const std::vector<store::Change>& batch) {
  if (full_ || !store_.stage(batch)) return;
  disk_.cut_power(random_.below(2));
}

}  // namespace berth::sim
