#include "placement/thresholds.h"

namespace berth::placement {

Overload above_max(const model::Usage& usage, const model::Usage& capacity,
                   const model::Thresholds& thresholds) {
  const auto& [cpu, ram] = thresholds;
  return {.cpu = cpu && above_percent(usage.cpu, capacity.cpu, cpu->max),
          .ram = ram && above_percent(usage.ram, capacity.ram, ram->max)};
}

model::Usage relieved_capacity(const model::Usage& capacity, const model::Thresholds& thresholds) {
  model::Usage relieved = capacity;
  if (thresholds.cpu) relieved.cpu = percent_rounded_down(capacity.cpu, thresholds.cpu->min);
  if (thresholds.ram) relieved.ram = percent_rounded_down(capacity.ram, thresholds.ram->min);
  return relieved;
}

model::Usage usable_capacity(const model::Usage& capacity, const model::Thresholds& thresholds) {
  model::Usage usable = capacity;
  if (thresholds.cpu) usable.cpu = percent_rounded_down(capacity.cpu, thresholds.cpu->max);
  if (thresholds.ram) usable.ram = percent_rounded_down(capacity.ram, thresholds.ram->max);
  return usable;
}

}  // namespace berth::placement
