#include "placement/snapshot.h"

#include <algorithm>

#include "placement/thresholds.h"

namespace berth::placement {
namespace {

template <class T>
std::vector<const T*> all_of(const model::Manifest& manifest) {
  std::vector<const T*> documents;
  for (const model::Document& document : manifest) {
    if (const auto* match = std::get_if<T>(&document)) documents.push_back(match);
  }
  return documents;
}

model::Usage system_usage_of(const model::Node& node) {
  if (!node.usage) return {};
  model::Usage ours;
  for (const model::RunningInstance& running : node.running) ours = ours + running.usage;
  const model::Usage rest = *node.usage - ours;
  return {std::max(rest.cpu, Dmips{}), std::max(rest.ram, Bytes{})};
}

NodeView view_of(const model::Node& node, const std::vector<const model::NodeConfig*>& configs) {
  const model::Runtime* primary = model::primary_runtime(node.info);
  NodeView view{.id = node.id,
                .info = &node.info,
                .settings = model::settings_for(node.id, node.info.type, configs),
                .reachability = node.connected ? Reachability::Connected : Reachability::Lost,
                .cordoned = node.cordoned,
                .ready = primary != nullptr && primary->ready == model::Readiness::Ready,
                .overloaded = false,
                .system_usage = system_usage_of(node)};
  view.overloaded =
      node.usage && above_max(*node.usage, node.info.capacity, view.settings.thresholds);
  return view;
}

}  // namespace

Snapshot snapshot_of(const model::Manifest& manifest) {
  Snapshot snapshot;
  for (const model::Item* item : all_of<model::Item>(manifest)) {
    snapshot.items.emplace(model::key_of(*item), item);
  }
  snapshot.deployments = all_of<model::Deployment>(manifest);
  const auto configs = all_of<model::NodeConfig>(manifest);
  for (const model::Node* node : all_of<model::Node>(manifest)) {
    snapshot.nodes.push_back(view_of(*node, configs));
    for (const model::RunningInstance& running : node->running) {
      const model::Place place{node->id, running.runtime};
      snapshot.present.emplace(running.key, Present{place, running.version, running.usage});
      snapshot.bound.emplace(running.key, place);
    }
  }
  return snapshot;
}

}  // namespace berth::placement
