#include "placement/ledger.h"

#include <limits>
#include <type_traits>

#include "base/check.h"
#include "placement/thresholds.h"

namespace berth::placement {
namespace {

template <class Q>
std::optional<Q> left_of(Q cap, Q reserved) {
  if (cap == Q{}) return std::nullopt;
  return cap - reserved;
}

}  // namespace

Ledger::Ledger(const std::vector<SnapshotNode>& nodes, Capacity capacity) : capacity_(capacity) {
  nodes_.reserve(nodes.size());
  for (const SnapshotNode& node : nodes) {
    nodes_.push_back(account_of(node));
    nodes_.back().partition = partition_of(node);
  }
}

Ledger::NodeAccount Ledger::account_of(const SnapshotNode& node) const {
  NodeAccount account{.capacity = node.info->capacity,
                      .system = node.system_usage,
                      .reserved = {},
                      .runtimes = {},
                      .shared = {},
                      .partition = 0};
  if (capacity_ == Capacity::RelievedWhereOverloaded && node.overloaded.any()) {
    account.capacity = relieved_capacity(account.capacity, node.settings.thresholds);
  }
  for (const model::Runtime& runtime : node.info->runtimes) {
    account.runtimes.push_back({.limits = runtime.limits, .reserved = {}, .instances = 0});
  }
  for (const model::SharedResource& shared : node.info->shared_resources) {
    account.shared.emplace(shared.name, SharedAccount{.count = shared.count, .taken = 0});
  }
  return account;
}

// Its partition is its own again, or the one that all share; what it had is nobody's then.
void Ledger::replace(std::size_t position, const SnapshotNode& node) {
  if (position == nodes_.size()) {
    nodes_.push_back(account_of(node));
    nodes_.back().partition = partition_of(node);
    return;
  }
  const std::size_t partition = nodes_[position].partition;
  nodes_[position] = account_of(node);
  const bool has_its_own = partition != unit_wide_ && !node.info->partitions.unit_wide;
  if (has_its_own) partitions_[partition] = {.size = node.info->partitions};
  nodes_[position].partition = has_its_own ? partition : partition_of(node);
}

std::size_t Ledger::partition_of(const SnapshotNode& node) {
  const model::Partitions& size = node.info->partitions;
  if (size.unit_wide && unit_wide_) return *unit_wide_;
  partitions_.push_back({.size = size, .storage = {}, .state = {}});
  if (size.unit_wide) unit_wide_ = partitions_.size() - 1;
  return partitions_.size() - 1;
}

template <class Apply>
void Ledger::change(const Holding& holding, std::int64_t instances, Apply apply) {
  NodeAccount& node = nodes_[holding.node];
  apply(node.reserved.cpu, holding.amounts.cpu);
  apply(node.reserved.ram, holding.amounts.ram);
  if (holding.runtime) {
    RuntimeAccount& runtime = node.runtimes[*holding.runtime];
    apply(runtime.reserved.cpu, holding.amounts.cpu);
    apply(runtime.reserved.ram, holding.amounts.ram);
    apply(runtime.instances, instances);
  }
  PartitionAccount& partition = partitions_[node.partition];
  apply(partition.storage, holding.amounts.storage);
  apply(partition.state, holding.amounts.state);
  for (const std::string& resource : holding.shared_resources) {
    const auto shared = node.shared.find(resource);
    if (shared != node.shared.end()) apply(shared->second.taken, instances);
  }
}

void Ledger::reserve(const Holding& holding) {
  change(holding, 1, [](auto& account, auto amount) { account += amount; });
}

void Ledger::release(const Holding& holding) {
  change(holding, 1, [](auto& account, auto amount) { account -= amount; });
}

// Where the product is too large for a number, so is the sum.
void Ledger::reserve(const Holding& holding, std::int64_t times) {
  if (times == 0) return;
  Holding all = holding;
  const auto multiply = [times](auto& amount) {
    std::int64_t product = 0;
    const bool fits = !__builtin_mul_overflow(amount.count(), times, &product);
    amount =
        std::decay_t<decltype(amount)>(fits ? product : std::numeric_limits<std::int64_t>::max());
  };
  multiply(all.amounts.cpu);
  multiply(all.amounts.ram);
  multiply(all.amounts.storage);
  multiply(all.amounts.state);
  change(all, times, [](auto& account, auto amount) { account += amount; });
}

Dmips Ledger::node_cpu_left(std::size_t node, SystemUsage system) const {
  const NodeAccount& account = nodes_[node];
  const Dmips left = account.capacity.cpu - account.reserved.cpu;
  return system == SystemUsage::Counted ? left - account.system.cpu : left;
}

Bytes Ledger::node_ram_left(std::size_t node, SystemUsage system) const {
  const NodeAccount& account = nodes_[node];
  const Bytes left = account.capacity.ram - account.reserved.ram;
  return system == SystemUsage::Counted ? left - account.system.ram : left;
}

std::optional<Dmips> Ledger::runtime_cpu_left(Slot slot) const {
  const RuntimeAccount& runtime = nodes_[slot.node].runtimes[slot.runtime];
  return left_of(runtime.limits.cpu, runtime.reserved.cpu);
}

std::optional<Bytes> Ledger::runtime_ram_left(Slot slot) const {
  const RuntimeAccount& runtime = nodes_[slot.node].runtimes[slot.runtime];
  return left_of(runtime.limits.ram, runtime.reserved.ram);
}

std::optional<std::int64_t> Ledger::instances_left(Slot slot) const {
  const RuntimeAccount& runtime = nodes_[slot.node].runtimes[slot.runtime];
  return left_of(std::int64_t{runtime.limits.instances}, runtime.instances);
}

std::optional<Bytes> Ledger::storage_left(std::size_t node) const {
  const PartitionAccount& partition = partitions_[nodes_[node].partition];
  if (!partition.size.storage) return std::nullopt;
  const Bytes left = *partition.size.storage - partition.storage;
  return partition.size.same_partition ? left - partition.state : left;
}

std::optional<Bytes> Ledger::state_left(std::size_t node, Bytes storage) const {
  const PartitionAccount& partition = partitions_[nodes_[node].partition];
  if (partition.size.same_partition) {
    const auto left = storage_left(node);
    return left ? std::optional(*left - storage) : std::nullopt;
  }
  if (!partition.size.state) return std::nullopt;
  return *partition.size.state - partition.state;
}

std::optional<std::int64_t> Ledger::shared_left(std::size_t node,
                                                const std::string& resource) const {
  const auto& shared = nodes_[node].shared;
  const auto found = shared.find(resource);
  if (found == shared.end()) return 0;
  if (found->second.count == 0) return std::nullopt;
  return std::int64_t{found->second.count} - found->second.taken;
}

bool Ledger::lists_shared(std::size_t node, const std::string& resource) const {
  return nodes_[node].shared.contains(resource);
}

model::Usage Ledger::reserved_on(std::size_t node) const { return nodes_[node].reserved; }

bool Ledger::same_partition(std::size_t a, std::size_t b) const {
  return nodes_[a].partition == nodes_[b].partition;
}

}  // namespace berth::placement
