#include "cli/ask/node_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/suggest.h"

namespace berth::cli {
namespace {

using placement::SnapshotNode;

Result<std::vector<const SnapshotNode*>> patterns_of(const NodeCopies& copies,
                                                     const std::vector<SnapshotNode>& nodes) {
  std::vector<const SnapshotNode*> patterns;
  if (nodes.empty()) {
    return invalid_input(
        "--nodes makes copies of nodes, and the files describe none: add a "
        "document of kind Node");
  }
  if (copies.like.empty()) {
    for (const SnapshotNode& node : nodes) patterns.push_back(&node);
  }
  for (const std::string& name : copies.like) {
    const auto found =
        std::ranges::find(nodes, name, [](const SnapshotNode& node) { return node.id.value(); });
    if (found == nodes.end()) {
      std::vector<std::string> known;
      for (const SnapshotNode& node : nodes) known.push_back(node.id.value());
      return invalid_input(fmt::format("--like: the files describe no node \"{}\".{}", name,
                                       did_you_mean(name, known)));
    }
    patterns.push_back(&*found);
  }
  return patterns;
}

// A run request that names nodes asks for a label instead, which the copies of those have: names
// would be compared with those of all copies, one by one. No document can have such a label.
using CopyLabels = std::map<std::string, std::vector<model::NodeId>>;

void ask_for_label(model::RunRequest& run, CopyLabels& labels) {
  std::string label = "\ncopy of";
  for (const model::NodeId& node : run.nodes) label += "\n" + node.value();
  labels.emplace(label, std::exchange(run.nodes, {}));
  run.labels.push_back(std::move(label));
}

CopyLabels ask_for_copies(model::Manifest& documents, const std::set<model::NodeId>& copied) {
  CopyLabels labels;
  for (model::Document& document : documents) {
    auto* deployment = std::get_if<model::Deployment>(&document);
    if (deployment == nullptr) continue;
    for (model::RunRequest& run : deployment->run) {
      const auto is_copied = [&](const model::NodeId& node) { return copied.contains(node); };
      if (std::ranges::any_of(run.nodes, is_copied)) ask_for_label(run, labels);
    }
  }
  return labels;
}

SnapshotNode pattern_of(const SnapshotNode& node, const CopyLabels& labels) {
  SnapshotNode pattern = node;
  pattern.usage.reset();
  pattern.overloaded = {};
  for (const auto& [label, nodes] : labels) {
    if (std::ranges::find(nodes, node.id) != nodes.end()) pattern.settings.labels.insert(label);
  }
  return pattern;
}

std::vector<SnapshotNode> copies_of(const std::vector<SnapshotNode>& patterns,
                                    std::uint32_t count) {
  std::vector<SnapshotNode> nodes;
  nodes.reserve(count);
  const std::size_t digits = fmt::format("{}", count).size();
  std::map<model::NodeId, std::uint32_t> made;
  for (std::uint32_t i = 0; i < count; ++i) {
    nodes.push_back(patterns[i % patterns.size()]);
    model::NodeId& id = nodes.back().id;
    const std::uint32_t number = ++made[id];
    id = model::NodeId(fmt::format("{}-{:0{}}", id.value(), number, digits));
  }
  return nodes;
}

}  // namespace

Result<placement::Snapshot> snapshot_with_copies(const NodeCopies& copies,
                                                 model::Manifest& documents) {
  placement::Snapshot snapshot = placement::snapshot_of(documents);
  if (!copies.nodes) {
    if (copies.like.empty()) return snapshot;
    return invalid_input("--like belongs to --nodes: say how many nodes there are in all");
  }
  const auto chosen = TRY(patterns_of(copies, snapshot.nodes));
  std::set<model::NodeId> copied;
  for (const SnapshotNode* node : chosen) copied.insert(node->id);
  const CopyLabels labels = ask_for_copies(documents, copied);
  std::vector<SnapshotNode> patterns;
  for (const SnapshotNode* node : chosen) patterns.push_back(pattern_of(*node, labels));
  snapshot.nodes = copies_of(patterns, *copies.nodes);
  snapshot.present.clear();
  snapshot.homes.clear();
  snapshot.bound.clear();
  return snapshot;
}

}  // namespace berth::cli
