#include "placement/directory.h"

namespace berth::placement {
namespace {

template <class Map>
typename Map::mapped_type found_in(const Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : found->second;
}

}  // namespace

Directory::Directory(const Snapshot& snapshot) : snapshot_(snapshot) {
  for (const SnapshotNode& node : snapshot.nodes) nodes_.emplace(node.id, &node);
  for (const model::Deployment* deployment : snapshot.deployments) {
    for (const model::RunRequest& run : deployment->run) {
      runs_.emplace(std::pair{run.item, run.subject}, &run);
    }
  }
}

const model::Item* Directory::item(const model::ItemId& id, const std::string& version) const {
  return found_in(snapshot_.items, {id, version});
}

const model::Item* Directory::running_item(const model::InstanceKey& key) const {
  const auto present = snapshot_.present.find(key);
  return present == snapshot_.present.end() ? nullptr : item(key.item, present->second.version);
}

const SnapshotNode* Directory::node(const model::NodeId& id) const { return found_in(nodes_, id); }

const model::RunRequest* Directory::run_request(const model::InstanceKey& key) const {
  return found_in(runs_, {key.item, key.subject});
}

}  // namespace berth::placement
