#include "sim/checkers/account.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/world.h"

namespace berth::sim {
namespace {

std::int64_t half_up(std::int64_t whole, std::uint32_t percent) {
  return (whole * percent + 50) / 100;
}

// Request, at most the quota; else the ratio of the quota; else the default share of the capacity.
template <class Q>
Q asked(std::optional<Q> request, std::optional<Q> quota, std::optional<std::uint32_t> ratio,
        std::optional<std::uint32_t> default_percent, Q capacity) {
  if (request) return quota ? std::min(*request, *quota) : *request;
  if (quota) return Q(half_up(quota->count(), std::min(ratio.value_or(50), 100U)));
  return default_percent ? Q(half_up(capacity.count(), *default_percent)) : Q();
}

template <class Q>
std::optional<std::string> above(const char* what, Q taken, Q has) {
  if (taken <= has) return std::nullopt;
  return fmt::format("{}: {} taken of {}", what, taken.count(), has.count());
}

std::optional<std::string> above_cap(const char* what, std::int64_t taken, std::int64_t cap) {
  if (cap == 0 || taken <= cap) return std::nullopt;
  return fmt::format("{}: {} taken of {}", what, taken, cap);
}

}  // namespace

Account::Account(const World& world, const control::Durable& durable) {
  std::vector<const model::NodeConfig*> configs;
  for (const auto& [name, config] : durable.node_configs) configs.push_back(&config);
  for (const auto& [id, host] : world.agents()) {
    NodeTaken& taken = nodes_[id];
    taken.info = &host->machine().info();
    taken.settings = model::settings_for(id, taken.info->type, configs);
  }
}

void Account::take(const model::Place& place, const model::Item& item) {
  const auto found = nodes_.find(place.node);
  if (found == nodes_.end()) return;
  NodeTaken& node = found->second;
  Taken& runtime = node.runtimes[place.runtime];
  ++runtime.instances;
  if (item.skip_resource_limits) return;
  for (const std::string& name : item.shared_resources) ++node.shared[name];
  if (item.type == model::ItemType::Component) return;

  const auto& [request, quotas, settings] = std::tie(item.request, item.quotas, node.settings);
  const model::Usage& capacity = node.info->capacity;
  const Dmips cpu = asked(request.cpu, quotas.cpu, settings.ratios.cpu,
                          settings.default_request.cpu, capacity.cpu);
  const Bytes ram = asked(request.ram, quotas.ram, settings.ratios.ram,
                          settings.default_request.ram, capacity.ram);
  for (Taken* taken : {&node.total, &runtime}) {
    taken->cpu += cpu;
    taken->ram += ram;
  }
  Space& space = node.info->partitions.unit_wide ? unit_wide_ : node.space;
  space.storage += asked(request.storage, quotas.storage, settings.ratios.storage, {}, Bytes());
  space.state += asked(request.state, quotas.state, settings.ratios.state, {}, Bytes());
}

std::optional<std::string> Account::excess() const {
  for (const auto& [id, node] : nodes_) {
    if (const auto what = excess_of(node)) return id.value() + ": " + *what;
  }
  return std::nullopt;
}

std::optional<std::string> Account::excess_on(const model::NodeId& node) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return std::nullopt;
  return excess_of(found->second);
}

std::optional<std::string> Account::excess_of(const NodeTaken& node) const {
  if (auto what = above("cpu", node.total.cpu, node.info->capacity.cpu)) return what;
  if (auto what = above("ram", node.total.ram, node.info->capacity.ram)) return what;
  for (const model::Runtime& runtime : node.info->runtimes) {
    const auto found = node.runtimes.find(runtime.id);
    if (found == node.runtimes.end()) continue;
    const Taken& taken = found->second;
    const model::RuntimeLimits& caps = runtime.limits;
    if (auto what = above_cap("cpu of a runtime", taken.cpu.count(), caps.cpu.count())) return what;
    if (auto what = above_cap("ram of a runtime", taken.ram.count(), caps.ram.count())) return what;
    if (auto what = above_cap("instances", taken.instances, caps.instances)) return what;
  }
  for (const auto& [name, count] : node.shared) {
    const auto& listed = node.info->shared_resources;
    const auto found = std::ranges::find(listed, name, &model::SharedResource::name);
    if (found == listed.end()) return fmt::format("shared resource {}: not there", name);
    if (auto what = above_cap(name.c_str(), count, found->count)) return what;
  }
  const model::Partitions& size = node.info->partitions;
  return excess_of_space(size, size.unit_wide ? unit_wide_ : node.space);
}

std::optional<std::string> Account::excess_of_space(const model::Partitions& size,
                                                    const Space& taken) const {
  if (size.same_partition) {
    if (!size.storage) return std::nullopt;
    return above("storage and state", taken.storage + taken.state, *size.storage);
  }
  if (size.storage) {
    if (auto what = above("storage", taken.storage, *size.storage)) return what;
  }
  return size.state ? above("state", taken.state, *size.state) : std::nullopt;
}

}  // namespace berth::sim
