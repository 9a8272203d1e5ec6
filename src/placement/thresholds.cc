#include "placement/thresholds.h"

namespace berth::placement {

bool above_max(const model::Usage& usage, const model::Usage& capacity,
               const model::Thresholds& thresholds) {
  const bool cpu = thresholds.cpu && above_percent(usage.cpu, capacity.cpu, thresholds.cpu->max);
  const bool ram = thresholds.ram && above_percent(usage.ram, capacity.ram, thresholds.ram->max);
  return cpu || ram;
}

model::Usage relieved_capacity(const model::Usage& capacity, const model::Thresholds& thresholds) {
  model::Usage relieved = capacity;
  if (thresholds.cpu) relieved.cpu = percent_rounded_down(capacity.cpu, thresholds.cpu->min);
  if (thresholds.ram) relieved.ram = percent_rounded_down(capacity.ram, thresholds.ram->min);
  return relieved;
}

}  // namespace berth::placement
