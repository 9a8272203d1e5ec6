#include "placement/snapshot.h"

#include <algorithm>

#include "model/instance.h"
#include "model/override.h"
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

SnapshotNode view_of(const model::Node& node,
                     const std::vector<const model::NodeConfig*>& configs) {
  const model::Runtime* primary = model::primary_runtime(node.info);
  SnapshotNode view{.id = node.id,
                    .info = &node.info,
                    .settings = model::settings_for(node.id, node.info.type, configs),
                    .reachability = node.connected ? Reachability::Connected : Reachability::Lost,
                    .cordoned = node.cordoned || node.draining,
                    .drain = node.draining ? Drain::Gently : Drain::No,
                    .ready = primary != nullptr && primary->ready == model::Readiness::Ready,
                    .primary = primary,
                    .overloaded = {},
                    .usage = node.usage,
                    .system_usage = system_usage_of(node)};
  if (node.usage) {
    view.overloaded = above_max(*node.usage, node.info.capacity, view.settings.thresholds);
  }
  return view;
}

// Of two copies of an instance, the one at the smaller place counts, in whatever order the nodes
// are listed.
void add_running(Snapshot& snapshot, const model::NodeId& node,
                 const model::RunningInstance& running) {
  const model::Place place{node, running.runtime};
  const auto known = snapshot.present.find(running.key);
  if (known != snapshot.present.end() && known->second.place < place) return;
  snapshot.present.insert_or_assign(
      running.key, Present{place, running.version, running.usage, running.finished});
  snapshot.bound.insert_or_assign(running.key, place);
  if (running.state_stays) snapshot.homes.insert_or_assign(running.key, Home{node, true});
}

// What instances run by, as far as documents tell.
class Documents {
 public:
  explicit Documents(const model::Manifest& manifest)
      : overrides_(all_of<model::EnvOverride>(manifest)) {
    for (const model::Item* item : all_of<model::Item>(manifest)) {
      items_.emplace(model::key_of(*item), item);
    }
    std::ranges::sort(overrides_, {}, &model::EnvOverride::name);
  }

  // nullopt: its item is not known.
  std::optional<model::Item> for_instance(const model::InstanceKey& key,
                                          const std::string& version) const {
    const auto found = items_.find({key.item, version});
    if (found == items_.end()) return std::nullopt;
    model::Item item = *found->second;
    for (auto& [name, value] : model::variables_for(key, overrides_)) {
      item.env.insert_or_assign(name, value);
    }
    return item;
  }

 private:
  std::map<model::ItemKey, const model::Item*> items_;
  std::vector<const model::EnvOverride*> overrides_;
};

}  // namespace

void mark_outdated(Snapshot& snapshot, const model::Manifest& before,
                   const model::Manifest& after) {
  const Documents old_ones(before);
  const Documents new_ones(after);
  for (const auto& [key, present] : snapshot.present) {
    const auto runs = old_ones.for_instance(key, present.version);
    const auto asked = new_ones.for_instance(key, present.version);
    if (runs && asked && !model::runs_the_same(*runs, *asked)) snapshot.outdated.insert(key);
  }
}

Snapshot snapshot_of(const model::Manifest& manifest) {
  Snapshot snapshot;
  for (const model::Item* item : all_of<model::Item>(manifest)) {
    snapshot.items.emplace(model::key_of(*item), item);
  }
  snapshot.deployments = all_of<model::Deployment>(manifest);
  for (const model::Subject* subject : all_of<model::Subject>(manifest)) {
    if (!subject->present) snapshot.absent.insert(subject->id);
  }
  const auto configs = all_of<model::NodeConfig>(manifest);
  for (const model::Node* node : all_of<model::Node>(manifest)) {
    snapshot.nodes.push_back(view_of(*node, configs));
    for (const model::RunningInstance& running : node->running) {
      add_running(snapshot, node->id, running);
    }
    for (const model::RestingInstance& resting : node->resting) {
      snapshot.homes.emplace(resting.key, Home{node->id, resting.state_stays});
    }
  }
  return snapshot;
}

}  // namespace berth::placement
