#include "placement/moment.h"

#include <algorithm>

#include "model/application.h"

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

// Those whose item is not known any more cannot be placed: they end. No document can name who runs
// of a pool: the moment says where, as of all who are bound.
void add_pools(Snapshot& snapshot, const Moment& moment) {
  for (const PoolMoment& pool : moment.pools) {
    const auto item = snapshot.items.find(pool.item);
    if (item == snapshot.items.end()) continue;
    snapshot.pools.push_back({.key = pool.key,
                              .item = item->second,
                              .priority = pool.priority,
                              .labels = &pool.labels,
                              .nodes = &pool.nodes,
                              .bound = pool.bound,
                              .displaces = pool.displaces});
    const auto place = moment.bound.find(pool.key);
    if (place == moment.bound.end()) continue;
    snapshot.present.emplace(
        pool.key, Present{.place = place->second, .version = pool.item.version, .measured = {}});
  }
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

PoolMoment moment_of(const PoolAsk& ask) {
  return {.key = ask.key,
          .item = {ask.item->id, ask.item->version},
          .priority = ask.priority,
          .labels = *ask.labels,
          .nodes = *ask.nodes,
          .bound = ask.bound,
          .displaces = ask.displaces};
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
  for (const auto& [key, place] : moment.bound) {
    if (!model::is_pool_instance(key)) snapshot.bound.insert_or_assign(key, place);
  }
  add_pools(snapshot, moment);

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
