#include "placement/cluster/node_kinds.h"

#include <algorithm>
#include <string>
#include <tuple>

namespace berth::placement {
namespace {

bool has_limits(const model::Runtime& runtime) { return runtime.limits != model::RuntimeLimits{}; }

// Words for people do not make a kind.
model::Runtime without_words(const model::Runtime& runtime) {
  model::Runtime plain;
  plain.id = runtime.id;
  plain.type = runtime.type;
  plain.platform = runtime.platform;
  plain.limits = runtime.limits;
  plain.ready = runtime.ready;
  return plain;
}

bool is_alike(const model::Runtime& a, const model::Runtime& b) {
  const auto parts = [](const model::Runtime& r) {
    return std::tie(r.id, r.type, r.platform, r.limits, r.ready);
  };
  return parts(a) == parts(b);
}

bool are_of_a_kind(const SnapshotNode& a, const SnapshotNode& b) {
  const auto parts = [](const SnapshotNode& node) {
    return std::tie(node.reachability, node.cordoned, node.ready, node.settings.labels,
                    node.info->state);
  };
  const auto has_store = [](const SnapshotNode& node) { return node.info->store_problem.empty(); };
  const auto is_limited = [](const SnapshotNode& node) {
    return node.info->partitions.storage || node.info->partitions.state;
  };
  return parts(a) == parts(b) && has_store(a) == has_store(b) && is_limited(a) == is_limited(b) &&
         std::ranges::equal(a.info->runtimes, b.info->runtimes, is_alike);
}

// Only to find kinds that may be the same: nothing can be told from it.
class Hash {
 public:
  void add(std::size_t value) { hash_ = (hash_ ^ value) * 0x9e3779b97f4a7c15u; }
  void add(const std::string& text) { add(std::hash<std::string>{}(text)); }
  std::size_t value() const { return hash_; }

 private:
  std::size_t hash_ = 0;
};

std::size_t hash_of(const SnapshotNode& node) {
  Hash hash;
  for (const std::string& label : node.settings.labels) hash.add(label);
  for (const model::Runtime& runtime : node.info->runtimes) {
    hash.add(runtime.id.value());
    hash.add(static_cast<std::size_t>(runtime.ready));
  }
  return hash.value();
}

model::NodeInfo info_of(const SnapshotNode& node) {
  model::NodeInfo info;
  info.state = node.info->state;
  info.store_problem = node.info->store_problem;
  info.partitions = node.info->partitions;
  std::ranges::transform(node.info->runtimes, std::back_inserter(info.runtimes), without_words);
  return info;
}

SnapshotNode view_of(const SnapshotNode& node) {
  SnapshotNode view;
  view.settings.labels = node.settings.labels;
  view.reachability = node.reachability;
  view.cordoned = node.cordoned;
  view.ready = node.ready;
  return view;
}

}  // namespace

KindNumber NodeKinds::number_of(const SnapshotNode& node) {
  const std::size_t hash = hash_of(node);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (are_of_a_kind(kinds_[it->second].view, node)) return it->second;
  }
  NodeKind& kind = kinds_.emplace_back(NodeKind{.info = info_of(node), .view = view_of(node)});
  kind.view.info = &kind.info;
  kind.has_partition_limits = kind.info.partitions.storage || kind.info.partitions.state;
  kind.has_runtime_limits = std::ranges::any_of(kind.info.runtimes, has_limits);
  const auto number = static_cast<KindNumber>(kinds_.size() - 1);
  by_hash_.emplace(hash, number);
  return number;
}

}  // namespace berth::placement
