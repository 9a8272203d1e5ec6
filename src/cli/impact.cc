#include "cli/impact.h"

#include <algorithm>

namespace berth::cli {
namespace {

using placement::Action;

bool is_up(const placement::NodeView& node) {
  return node.reachability != placement::Reachability::Lost &&
         node.info->state == model::NodeState::Provisioned;
}

bool has_only_one(const placement::NodeView& node, const std::string& resource) {
  return std::ranges::any_of(node.info->shared_resources, [&](const model::SharedResource& shared) {
    return shared.name == resource && shared.count == 1;
  });
}

// Two running copies would share what only one may have.
bool holds_something_exclusive(const model::Item& item, const placement::NodeView& node) {
  if (node.info->partitions.unit_wide && model::keeps_state(item)) return true;
  if (item.skip_resource_limits) return false;  // such an item takes no shared resource
  return std::ranges::any_of(item.shared_resources, [&](const std::string& resource) {
    return has_only_one(node, resource);
  });
}

}  // namespace

Downtime downtime_of(const placement::Placement& placement, const PlanView& view) {
  const Directory& directory = view.directory;
  const bool restarts = placement.action == Action::Update || placement.action == Action::Restart;
  if (restarts && !placement.from) return Downtime::Restarts;
  if (!placement.from) return Downtime::None;
  const placement::NodeView* from = directory.node(placement.from->node);
  if (from == nullptr || !is_up(*from)) return Downtime::DownNow;
  const model::Item* item = directory.running_item(placement.key);
  if (item == nullptr) item = directory.item(placement.key.item, placement.version);
  if (item == nullptr) return Downtime::None;
  const bool stops_first =
      item->move == model::MovePolicy::StopFirst || model::hands_state_over(*item) ||
      from->evicting.contains(placement.from->runtime) || holds_something_exclusive(*item, *from) ||
      view.crowded_out.contains(placement.key);
  return stops_first ? Downtime::StopsFirst : Downtime::None;
}

std::string downtime_text(const placement::Placement& placement, Downtime downtime) {
  switch (downtime) {
    case Downtime::StopsFirst: return "stops first";
    case Downtime::Restarts: return "restarts";
    case Downtime::DownNow: return "is down now";
    case Downtime::None: break;
  }
  return placement.from ? "none" : "";
}

}  // namespace berth::cli
