#include "agentd/usage.h"

#include <algorithm>

namespace berth::agentd {

Average::Rates Average::add(Time at, const runtime::Consumption& used, Duration window,
                            std::int64_t dmips_per_core) {
  // Less than before: another run has begun.
  const auto has_begun_anew = [&](const runtime::Consumption& before) {
    return used.cpu_time < before.cpu_time || used.received < before.received ||
           used.sent < before.sent;
  };
  if (!points_.empty() && has_begun_anew(points_.back().used)) points_.clear();
  points_.push_back({at, used});
  while (points_.size() > 2 && points_[1].at <= at - window) points_.pop_front();

  Rates rates;
  for (const Point& point : points_) rates.usage.ram += point.used.ram;
  rates.usage.ram = Bytes(rates.usage.ram.count() / static_cast<std::int64_t>(points_.size()));
  const Duration elapsed = at - points_.front().at;
  if (elapsed <= Duration{}) return rates;
  const runtime::Consumption& first = points_.front().used;
  const auto spent = used.cpu_time - first.cpu_time;
  const double cores = static_cast<double>(spent.count()) / static_cast<double>(elapsed.count());
  rates.usage.cpu = Dmips(static_cast<std::int64_t>(cores * static_cast<double>(dmips_per_core)));
  const double seconds = std::chrono::duration<double>(elapsed).count();
  const auto per_second = [&](std::int64_t before, std::int64_t now) {
    return static_cast<std::int64_t>(static_cast<double>(now - before) / seconds);
  };
  rates.traffic = {per_second(first.received, used.received), per_second(first.sent, used.sent)};
  return rates;
}

agent::Measured UsageMeter::add(Time at,
                                const std::map<model::InstanceKey, runtime::Consumption>& instances,
                                const runtime::Consumption& rest, Rest what) {
  std::erase_if(instances_, [&](const auto& known) { return !instances.contains(known.first); });
  agent::Measured measured;
  const Average::Rates node = rest_.add(at, rest, window_, dmips_per_core_);
  measured.total = node.usage;
  measured.node.emplace().traffic = node.traffic;
  for (const auto& [key, used] : instances) {
    const Average::Rates rates = instances_[key].add(at, used, window_, dmips_per_core_);
    measured.instances.emplace(key, rates.usage);
    measured.footprints[key].traffic = rates.traffic;
    if (what == Rest::Agent) measured.total = measured.total + rates.usage;
  }
  return measured;
}

}  // namespace berth::agentd
