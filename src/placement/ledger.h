#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/node.h"
#include "placement/amounts.h"
#include "placement/snapshot.h"

namespace berth::placement {

// A runtime of a node, by position in the snapshot.
struct Slot {
  std::size_t node = 0;
  std::size_t runtime = 0;

  friend bool operator==(const Slot&, const Slot&) = default;
};

// What one instance holds of the cluster: all of it or nothing. A slot without a runtime (one that
// is gone) still takes room of its node.
struct Holding {
  std::size_t node = 0;
  std::optional<std::size_t> runtime;
  Amounts amounts;
  std::set<std::string> shared_resources;  // one unit of each
};

// Whether what runs on a node beside our instances counts against its room.
enum class SystemUsage { Counted, Ignored };

// Who holds what. Room is given exactly and may be negative where what runs was kept past the
// rules; whoever shows it to people clamps it to zero. Copies are cheap enough to try things out
// on.
class Ledger {
 public:
  // While rebalancing, overloaded nodes count only a part of their capacity.
  enum class Capacity { Full, RelievedWhereOverloaded };

  Ledger(const std::vector<SnapshotNode>& nodes, Capacity capacity);

  void reserve(const Holding& holding);
  void release(const Holding& holding);
  // As many times.
  void reserve(const Holding& holding, std::int64_t times);

  // The node is another by now, or there is one more. REQUIRES: nothing is reserved there.
  void replace(std::size_t position, const SnapshotNode& node);
  void set_system_usage(std::size_t node, const model::Usage& usage) {
    nodes_[node].system = usage;
  }

  Dmips node_cpu_left(std::size_t node, SystemUsage system) const;
  Bytes node_ram_left(std::size_t node, SystemUsage system) const;
  // nullopt = not limited.
  std::optional<Dmips> runtime_cpu_left(Slot slot) const;
  std::optional<Bytes> runtime_ram_left(Slot slot) const;
  std::optional<std::int64_t> instances_left(Slot slot) const;
  std::optional<Bytes> storage_left(std::size_t node) const;
  // What is left for state once `storage` is taken from the same partition, if it is the same.
  std::optional<Bytes> state_left(std::size_t node, Bytes storage) const;
  // nullopt = unlimited; a resource that the node does not list has nothing left.
  std::optional<std::int64_t> shared_left(std::size_t node, const std::string& resource) const;
  bool lists_shared(std::size_t node, const std::string& resource) const;

  model::Usage reserved_on(std::size_t node) const;
  // Whether both nodes keep storage and state on one and the same partition.
  bool same_partition(std::size_t a, std::size_t b) const;

 private:
  struct RuntimeAccount {
    model::RuntimeLimits limits;
    model::Usage reserved;
    std::int64_t instances = 0;
  };
  struct SharedAccount {
    std::uint32_t count = 0;
    std::int64_t taken = 0;
  };
  struct NodeAccount {
    model::Usage capacity;
    model::Usage system;
    model::Usage reserved;
    std::vector<RuntimeAccount> runtimes;
    std::map<std::string, SharedAccount> shared;
    std::size_t partition = 0;
  };
  struct PartitionAccount {
    model::Partitions size;
    Bytes storage;
    Bytes state;
  };

  template <class Apply>
  void change(const Holding& holding, std::int64_t instances, Apply apply);
  NodeAccount account_of(const SnapshotNode& node) const;
  std::size_t partition_of(const SnapshotNode& node);

  std::vector<NodeAccount> nodes_;
  std::vector<PartitionAccount> partitions_;
  std::optional<std::size_t> unit_wide_;
  Capacity capacity_;
};

}  // namespace berth::placement
