#include "controld/planning/cluster_documents.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "controld/planning/desired_documents.h"

namespace berth::controld {
namespace {

using placement::Reachability;

model::Node document_of(const placement::SnapshotNode& view) {
  model::Node node;
  node.id = view.id;
  node.info = *view.info;
  node.connected = view.reachability != Reachability::Lost;
  // To documents a node is connected or lost. One that is silent, but not lost, keeps what it has
  // and gets nothing new: just what being cordoned means.
  node.cordoned = view.cordoned || view.reachability == Reachability::Unreachable;
  node.draining = view.drain != placement::Drain::No;
  node.usage = view.usage;
  return node;
}

// Each with what runs there, and what has to come back there.
std::map<model::NodeId, model::Node> documents_of_nodes(const placement::Snapshot& snapshot) {
  std::map<model::NodeId, model::Node> nodes;
  for (const placement::SnapshotNode& view : snapshot.nodes)
    nodes.emplace(view.id, document_of(view));
  for (const auto& [key, present] : snapshot.present) {
    const auto node = nodes.find(present.place.node);
    // No document can name who runs of a pool: the moment does.
    if (node == nodes.end() || model::is_pool_instance(key)) continue;
    const auto home = snapshot.homes.find(key);
    const bool state_stays = home != snapshot.homes.end() && home->second.has_state;
    node->second.running.push_back({key, present.version, present.place.runtime, present.measured,
                                    state_stays, present.finished});
  }
  for (const auto& [key, home] : snapshot.homes) {
    const auto node = nodes.find(home.node);
    const bool rests = node != nodes.end() && !snapshot.present.contains(key);
    if (rests) node->second.resting.push_back({key, home.has_state});
  }
  return nodes;
}

placement::Versions held_by(const model::RolloutRecord& rollout) {
  if (!rollout.allow_partial) return {.whole = rollout.from, .of = {}};
  placement::Versions versions{.whole = rollout.to, .of = {}};
  for (const std::uint32_t index : rollout.kept_back) versions.of.emplace(index, rollout.from);
  return versions;
}

// Of what is asked for. Plans look to the end of rollouts that are on their way.
placement::KnownFailures failures_in(const control::Controller& controller,
                                     const placement::Snapshot& snapshot) {
  placement::KnownFailures failures{.versions = {}, .avoided = snapshot.avoided};
  for (const auto& [key, rollout] : controller.durable().rollouts) {
    if (!rollout.failed || !snapshot.versions.contains(key)) continue;
    failures.versions.emplace(key, placement::FailedVersion{rollout.to, held_by(rollout)});
  }
  return failures;
}

placement::Moment moment_of(const control::Controller& controller,
                            const placement::Snapshot& snapshot) {
  placement::Moment moment{.nodes = {},
                           .homes = snapshot.homes,
                           .bound = snapshot.bound,
                           .returning = {},
                           .untold = {},
                           .failures = failures_in(controller, snapshot),
                           .pools = {}};
  for (const placement::PoolAsk& ask : snapshot.pools) {
    moment.pools.push_back(placement::moment_of(ask));
    const auto present = snapshot.present.find(ask.key);
    if (present != snapshot.present.end()) moment.bound.emplace(ask.key, present->second.place);
  }

  for (const placement::SnapshotNode& node : snapshot.nodes) {
    moment.nodes.push_back(placement::moment_of(node));
  }
  for (const auto& [key, present] : snapshot.present) {
    if (present.returning) moment.returning.insert(key);
    if (present.untold) moment.untold.insert(key);
  }
  return moment;
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
  named.quotas = item.quotas;
  return named;
}
template <model::DocumentValue D>
const D& without_texts(const D& document) {
  return document;
}

}  // namespace

// Of what the controller itself places from, so that all plans see what it sees.
Cluster copy_of(const control::Controller& controller) {
  const control::Durable& durable = controller.durable();
  const placement::Snapshot snapshot = controller.snapshot();
  Cluster cluster{.revision = durable.counters.revision,
                  .documents = {},
                  .moment = moment_of(controller, snapshot)};
  for_each_document(durable,
                    [&](const auto& document) { cluster.documents.emplace_back(document); });
  for (auto& [id, node] : documents_of_nodes(snapshot)) {
    cluster.documents.emplace_back(std::move(node));
  }
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
  placement::try_again(cluster.moment.failures, *cluster.before, documents);
  for (const model::Document& document : documents) {
    replaced.insert(identity_of(document));
    if (const auto* node = std::get_if<model::Node>(&document)) forget(cluster.moment, node->id);
  }
  std::erase_if(cluster.documents, [&](const model::Document& document) {
    return replaced.contains(identity_of(document));
  });
  for (model::Document& document : documents) cluster.documents.push_back(std::move(document));
  return cluster;
}

}  // namespace berth::controld
