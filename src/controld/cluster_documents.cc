#include "controld/cluster_documents.h"

#include <string>
#include <utility>
#include <variant>

#include "control/launcher/snapshot.h"
#include "controld/desired_documents.h"

namespace berth::controld {
namespace {

using control::Liveness;
using Asked = std::set<std::pair<model::ItemId, model::SubjectId>>;

Asked asked_for(const control::Durable& durable) {
  Asked asked;
  for (const auto& [name, deployment] : durable.deployments) {
    for (const model::RunRequest& run : deployment.run) asked.emplace(run.item, run.subject);
  }
  return asked;
}

model::Node document_of(const model::NodeRecord& record, const control::ObservedNode& observed) {
  model::Node node;
  node.id = record.id;
  node.info = observed.info;
  node.connected = observed.liveness != Liveness::Lost;
  // To documents a node is connected or lost. One that is silent, but not lost, keeps what it has
  // and gets nothing new: just what being cordoned means.
  const bool is_silent = node.connected && observed.liveness != Liveness::Reachable;
  node.cordoned = record.cordoned || is_silent;
  node.draining = record.drain.has_value();
  node.usage = observed.usage;
  return node;
}

model::Usage measured(const control::ObservedNode& node, const model::InstanceKey& key) {
  const auto reported = node.reported.find(key);
  return reported == node.reported.end() ? model::Usage{} : reported->second.usage;
}

placement::Versions held_by(const model::RolloutRecord& rollout) {
  if (!rollout.allow_partial) return {.whole = rollout.from, .of = {}};
  placement::Versions versions{.whole = rollout.to, .of = {}};
  for (const std::uint32_t index : rollout.kept_back) versions.of.emplace(index, rollout.from);
  return versions;
}

placement::Held held_in(const control::Controller& controller, const Asked& asked) {
  const control::Durable& durable = controller.durable();
  placement::Held held;
  for (const auto& [key, rollout] : durable.rollouts) {
    if (!rollout.failed || !asked.contains(key)) continue;
    held.versions.emplace(key, placement::HeldVersions{rollout.to, held_by(rollout)});
  }
  for (const auto& [key, avoided] : controller.avoided()) {
    const auto record = durable.instances.find(key);
    if (record == durable.instances.end() || record->second.version != avoided.version) continue;
    for (const auto& [node, until] : avoided.until) held.avoided[key].insert(node);
  }
  return held;
}

bool has_finished(const control::ObservedNode& node, const model::InstanceRecord& record) {
  const auto run = node.reported.find(record.key);
  return run != node.reported.end() && run->second.finished &&
         run->second.version == record.version;
}

using Identity = std::pair<std::size_t, std::string>;

Identity identity_of(const model::Document& document) {
  return {document.index(), model::id_of(document)};
}

model::Item without_texts(const model::Item& item) {
  model::Item named;
  named.id = item.id;
  named.version = item.version;
  named.type = item.type;
  return named;
}
template <model::DocumentValue D>
const D& without_texts(const D& document) {
  return document;
}

}  // namespace

Cluster copy_of(const control::Controller& controller) {
  const control::Durable& durable = controller.durable();
  Cluster cluster;
  cluster.revision = durable.counters.revision;
  cluster.date_of_zero = controller.date_of(Time{});
  for_each_document(durable,
                    [&](const auto& document) { cluster.documents.emplace_back(document); });

  std::map<model::NodeId, model::Node> nodes;
  for (const auto& [id, record] : durable.nodes) {
    const control::ObservedNode& observed = controller.nodes().at(id);
    nodes.emplace(id, document_of(record, observed));
    cluster.readiness.emplace(id, observed.readiness);
    const bool is_silent =
        observed.liveness == Liveness::Unknown || observed.liveness == Liveness::Unreachable;
    if (is_silent) cluster.unreachable.insert(id);
  }
  const Asked asked = asked_for(durable);
  for (const auto& [key, record] : durable.instances) {
    if (record.own_runtime) cluster.bound.emplace(key, *record.own_runtime);
    if (record.preinstalled && !asked.contains({key.item, key.subject})) continue;
    const auto home = control::home_of(durable, record);
    if (!record.place) {
      const auto node = home ? nodes.find(home->node) : nodes.end();
      if (node != nodes.end()) node->second.resting.push_back({key, home->has_state});
      continue;
    }
    if (record.preinstalled) cluster.bound.emplace(key, *record.place);
    const auto node = nodes.find(record.place->node);
    if (node == nodes.end()) continue;
    node->second.running.push_back({key, record.version, record.place->runtime,
                                    measured(controller.nodes().at(node->first), key),
                                    home && home->has_state,
                                    has_finished(controller.nodes().at(node->first), record)});
  }
  for (auto& [id, node] : nodes) cluster.documents.emplace_back(std::move(node));
  cluster.held = held_in(controller, asked);
  return cluster;
}

model::Manifest outline_of(const control::Durable& durable) {
  model::Manifest outline;
  for_each_document(durable,
                    [&](const auto& document) { outline.emplace_back(without_texts(document)); });
  return outline;
}

Cluster overlaid(Cluster cluster, model::Manifest documents) {
  std::set<Identity> replaced;
  cluster.before = cluster.documents;
  placement::try_again(cluster.held, *cluster.before, documents);
  for (const model::Document& document : documents) {
    replaced.insert(identity_of(document));
    if (const auto* node = std::get_if<model::Node>(&document)) {
      cluster.unreachable.erase(node->id);
      cluster.readiness.erase(node->id);
    }
  }
  std::erase_if(cluster.documents, [&](const model::Document& document) {
    return replaced.contains(identity_of(document));
  });
  for (model::Document& document : documents) cluster.documents.push_back(std::move(document));
  return cluster;
}

placement::Snapshot snapshot_of(const Cluster& cluster) {
  placement::Snapshot snapshot = placement::snapshot_of(cluster.documents);
  for (placement::NodeView& node : snapshot.nodes) {
    if (cluster.unreachable.contains(node.id)) {
      node.reachability = placement::Reachability::Unreachable;
    }
    const auto readiness = cluster.readiness.find(node.id);
    if (readiness == cluster.readiness.end()) continue;
    control::add_readiness(node, readiness->second, cluster.date_of_zero);
  }
  placement::hold(snapshot, cluster.held);
  if (cluster.before) placement::mark_outdated(snapshot, *cluster.before, cluster.documents);
  for (const auto& [key, place] : cluster.bound) snapshot.bound.insert_or_assign(key, place);
  return snapshot;
}

}  // namespace berth::controld
