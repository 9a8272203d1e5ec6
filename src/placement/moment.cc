#include "placement/moment.h"

#include <algorithm>

namespace berth::placement {
namespace {

const model::Runtime* find_runtime(const model::NodeInfo& info,
                                   const std::optional<model::RuntimeId>& id) {
  const auto found = std::ranges::find(
      info.runtimes, id, [](const model::Runtime& runtime) { return std::optional(runtime.id); });
  return found == info.runtimes.end() ? nullptr : &*found;
}

void lay_over(SnapshotNode& node, const NodeMoment& moment) {
  node.reachability = moment.reachability;
  node.cordoned = moment.cordoned;
  node.drain = moment.drain;
  node.ready = moment.ready;
  node.primary = find_runtime(*node.info, moment.primary);
  node.not_ready_since = moment.not_ready_since;
  node.evicting = moment.evicting;
  node.overloaded = moment.overloaded;
  node.system_usage = moment.system_usage;
}

// Who runs on a node of the moment is bound, and at home, where the moment says.
void drop_guesses(Snapshot& snapshot, const std::set<model::NodeId>& known) {
  std::erase_if(snapshot.bound,
                [&](const auto& entry) { return known.contains(entry.second.node); });
  std::erase_if(snapshot.homes,
                [&](const auto& entry) { return known.contains(entry.second.node); });
}

}  // namespace

NodeMoment moment_of(const SnapshotNode& node) {
  NodeMoment moment{.id = node.id,
                    .reachability = node.reachability,
                    .cordoned = node.cordoned,
                    .drain = node.drain,
                    .ready = node.ready,
                    .primary = {},
                    .not_ready_since = node.not_ready_since,
                    .evicting = node.evicting,
                    .overloaded = node.overloaded,
                    .system_usage = node.system_usage};
  if (node.primary != nullptr) moment.primary = node.primary->id;
  return moment;
}

void forget(Moment& moment, const model::NodeId& node) {
  std::erase_if(moment.nodes, [&](const NodeMoment& one) { return one.id == node; });
  std::erase_if(moment.homes, [&](const auto& entry) { return entry.second.node == node; });
  std::erase_if(moment.bound, [&](const auto& entry) { return entry.second.node == node; });
}

Snapshot snapshot_of(const model::Manifest& documents, const Moment& moment,
                     const std::optional<model::Manifest>& before) {
  Snapshot snapshot = snapshot_of(documents);
  std::map<model::NodeId, const NodeMoment*> moments;
  std::set<model::NodeId> known;
  for (const NodeMoment& node : moment.nodes) {
    moments.emplace(node.id, &node);
    known.insert(node.id);
  }
  for (SnapshotNode& node : snapshot.nodes) {
    const auto found = moments.find(node.id);
    if (found != moments.end()) lay_over(node, *found->second);
  }
  drop_guesses(snapshot, known);
  for (const auto& [key, place] : moment.bound) snapshot.bound.insert_or_assign(key, place);
  for (const auto& [key, home] : moment.homes) snapshot.homes.insert_or_assign(key, home);
  for (const model::InstanceKey& key : moment.returning) {
    const auto present = snapshot.present.find(key);
    if (present != snapshot.present.end()) present->second.returning = true;
  }
  for (const model::InstanceKey& key : moment.untold) {
    const auto present = snapshot.present.find(key);
    if (present != snapshot.present.end()) present->second.untold = true;
  }
  respect(snapshot, moment.failures);
  if (before) mark_outdated(snapshot, *before, documents);
  return snapshot;
}

}  // namespace berth::placement
