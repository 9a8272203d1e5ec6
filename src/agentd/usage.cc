#include "agentd/usage.h"

#include <algorithm>

namespace berth::agentd {

model::Usage Average::add(Time at, const runtime::Consumption& used, Duration window,
                          std::int64_t dmips_per_core) {
  // Less than before: another run has begun.
  if (!points_.empty() && used.cpu_time < points_.back().used.cpu_time) points_.clear();
  points_.push_back({at, used});
  while (points_.size() > 2 && points_[1].at <= at - window) points_.pop_front();

  model::Usage usage;
  for (const Point& point : points_) usage.ram += point.used.ram;
  usage.ram = Bytes(usage.ram.count() / static_cast<std::int64_t>(points_.size()));
  const auto elapsed = at - points_.front().at;
  if (elapsed <= Duration{}) return usage;
  const auto spent = used.cpu_time - points_.front().used.cpu_time;
  const double cores = static_cast<double>(spent.count()) / static_cast<double>(elapsed.count());
  usage.cpu = Dmips(static_cast<std::int64_t>(cores * static_cast<double>(dmips_per_core)));
  return usage;
}

agent::Measured UsageMeter::add(Time at,
                                const std::map<model::InstanceKey, runtime::Consumption>& instances,
                                const runtime::Consumption& rest, Rest what) {
  std::erase_if(instances_, [&](const auto& known) { return !instances.contains(known.first); });
  agent::Measured measured;
  measured.total = rest_.add(at, rest, window_, dmips_per_core_);
  for (const auto& [key, used] : instances) {
    const model::Usage usage = instances_[key].add(at, used, window_, dmips_per_core_);
    measured.instances.emplace(key, usage);
    if (what == Rest::Agent) measured.total = measured.total + usage;
  }
  return measured;
}

}  // namespace berth::agentd
