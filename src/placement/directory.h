#pragma once

#include <map>
#include <string>
#include <utility>

#include "placement/plan.h"
#include "placement/snapshot.h"

namespace berth::placement {

// Finds the things that a plan names by id. nullptr: the snapshot knows no such thing. The
// snapshot must outlive it.
class Directory {
 public:
  explicit Directory(const Snapshot& snapshot);

  const model::Item* item(const model::ItemId& id, const std::string& version) const;
  // Of the version that runs of the instance now.
  const model::Item* running_item(const model::InstanceKey& key) const;
  const SnapshotNode* node(const model::NodeId& id) const;
  const model::RunRequest* run_request(const model::InstanceKey& key) const;

 private:
  const Snapshot& snapshot_;
  std::map<model::NodeId, const SnapshotNode*> nodes_;
  std::map<std::pair<model::ItemId, model::SubjectId>, const model::RunRequest*> runs_;
};

}  // namespace berth::placement
