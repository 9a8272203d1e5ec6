#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "placement/snapshot.h"

namespace berth::placement {

// What rules look at of a node beside its name and its room. Large clusters have few kinds of
// nodes, and what is found out about one of a kind holds for all.
struct NodeKind {
  model::NodeInfo info;
  SnapshotNode view;  // of `info`, without what does not matter
  bool has_partition_limits = false;
  bool has_runtime_limits = false;
};

using KindNumber = std::uint32_t;

// The kinds there are, numbered as they turn up.
class NodeKinds {
 public:
  KindNumber number_of(const SnapshotNode& node);

  const NodeKind& operator[](KindNumber number) const { return kinds_[number]; }
  std::size_t size() const { return kinds_.size(); }

 private:
  std::deque<NodeKind> kinds_;  // their views point to their infos
  std::multimap<std::size_t, KindNumber> by_hash_;
};

}  // namespace berth::placement
