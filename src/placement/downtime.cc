#include "placement/downtime.h"

#include <algorithm>
#include <set>

#include "placement/door.h"

namespace berth::placement {
namespace {

bool is_up(const SnapshotNode& node) {
  return node.reachability != Reachability::Lost &&
         node.info->state == model::NodeState::Provisioned;
}

bool has_just_one(const SnapshotNode& node, const std::string& resource) {
  return std::ranges::any_of(node.info->shared_resources, [&](const model::SharedResource& shared) {
    return shared.name == resource && shared.count == 1;
  });
}

// Two running copies would share what only one may have.
bool holds_something_exclusive(const model::Item& item, const SnapshotNode& node) {
  if (node.info->partitions.unit_wide && model::keeps_state(item)) return true;
  if (item.skip_resource_limits) return false;  // such an item takes no shared resource
  return std::ranges::any_of(item.shared_resources, [&](const std::string& resource) {
    return has_just_one(node, resource);
  });
}

bool stops_first(const Placement& placement, const Directory& directory, const SnapshotNode& from) {
  const model::Item* item = directory.running_item(placement.key);
  if (item == nullptr) item = directory.item(placement.key.item, placement.version);
  if (item == nullptr) return false;
  return item->move == model::MovePolicy::StopFirst || model::hands_state_over(*item) ||
         from.evicting.contains(placement.from->runtime) || holds_something_exclusive(*item, from);
}

Downtime downtime_of(const Placement& placement, const Directory& directory,
                     const std::set<model::InstanceKey>& crowded) {
  if (!placement.from) return Downtime::Restarts;
  const SnapshotNode* from = directory.node(placement.from->node);
  if (from == nullptr || !is_up(*from)) return Downtime::DownNow;
  const bool stops = crowded.contains(placement.key) || stops_first(placement, directory, *from);
  return stops ? Downtime::StopsFirst : Downtime::None;
}

}  // namespace

std::string_view to_string(Downtime downtime) {
  switch (downtime) {
    case Downtime::None: return "none";
    case Downtime::StopsFirst: return "stopsFirst";
    case Downtime::Restarts: return "restarts";
    case Downtime::DownNow: return "downNow";
  }
  return "";
}

Downtimes downtimes_of(const Snapshot& snapshot, const Plan& plan) {
  const Directory directory(snapshot);
  const std::set<model::InstanceKey> crowded = crowded_out(snapshot, plan);
  Downtimes downtimes;
  for (const Placement& placement : plan.placements) {
    const bool restarts = placement.action == Action::Update || placement.action == Action::Restart;
    if (!placement.from && !restarts) continue;
    downtimes.emplace(placement.key, downtime_of(placement, directory, crowded));
  }
  return downtimes;
}

}  // namespace berth::placement
