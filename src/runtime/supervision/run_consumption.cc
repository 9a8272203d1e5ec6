#include "runtime/supervision/run_consumption.h"

#include <set>

#include "runtime/process/process_table.h"

namespace berth::runtime {

std::map<model::InstanceKey, Consumption> consumption_of(const std::vector<LiveRun>& runs) {
  std::map<pid_t, model::InstanceKey> keys;
  std::set<pid_t> shims;
  for (const LiveRun& run : runs) {
    keys.emplace(run.shim, run.record.found.key);
    shims.insert(run.shim);
  }
  std::map<model::InstanceKey, Consumption> measured;
  if (shims.empty()) return measured;
  for (const auto& [shim, used] : consumption_below(read_processes(), shims)) {
    Consumption& sum = measured[keys.at(shim)];
    sum.cpu_time += used.cpu_time;
    sum.ram += used.ram;
  }
  return measured;
}

}  // namespace berth::runtime
