#include "placement/door.h"

#include <algorithm>

#include "placement/asked.h"
#include "placement/room.h"

namespace berth::placement {
namespace {

const model::Item* find_item(const Snapshot& snapshot, const model::InstanceKey& key,
                             const std::string& version) {
  const auto found = snapshot.items.find({key.item, version});
  return found == snapshot.items.end() ? nullptr : found->second;
}

bool leaves(const Placement& placement, const model::NodeId& node) {
  return placement.from && placement.from->node == node && placement.place.node != node;
}

// Everybody who is at one node now or will be.
class Passage {
 public:
  Passage(const Snapshot& snapshot, const Plan& plan, const SnapshotNode& node)
      : snapshot_(snapshot), plan_(plan), id_(node.id), door_(node) {
    std::set<model::InstanceKey> staying;
    for (const Placement& placement : plan.placements) {
      if (placement.place.node == id_) staying.insert(placement.key);
    }
    for (const Refusal& refusal : plan.refused) {
      if (refusal.left_running) staying.insert(refusal.key);
    }
    for (const auto& [key, present] : snapshot.present) {
      if (present.place.node != id_) continue;
      door_.occupy(key, find_item(snapshot, key, present.version), present.place.runtime,
                   staying.contains(key) ? Door::Stay::Stays : Door::Stay::Leaves);
    }
  }

  // In scheduling order.
  void add_crowded_out(std::set<model::InstanceKey>& keys) {
    bool somebody_waits = false;
    for (const Placement& placement : plan_.placements) {
      if (somebody_waits && leaves(placement, id_)) keys.insert(placement.key);
      const bool comes = placement.place.node == id_ && placement.action != Action::Keep;
      if (!comes) continue;
      const model::Item* item = find_item(snapshot_, placement.key, placement.version);
      if (!door_.admit(placement.key, item, placement.place.runtime)) somebody_waits = true;
    }
  }

 private:
  const Snapshot& snapshot_;
  const Plan& plan_;
  const model::NodeId& id_;
  Door door_;
};

}  // namespace

Door::Door(SnapshotNode node) : nodes_{std::move(node)}, ledger_(nodes_, Ledger::Capacity::Full) {}

void Door::occupy(const model::InstanceKey& key, const model::Item* item,
                  const model::RuntimeId& runtime, Stay stay) {
  if (stay == Stay::Leaves) somebody_leaves_ = true;
  const auto slot = slot_of(runtime);
  if (item != nullptr && slot) take_room(key, *item, *slot);
}

bool Door::admit(const model::InstanceKey& key, const model::Item* item,
                 const model::RuntimeId& runtime) {
  const auto slot = slot_of(runtime);
  if (item == nullptr || !slot) return true;
  const auto old_room = holdings_.find(key);
  if (old_room != holdings_.end()) ledger_.release(old_room->second);
  const auto figures = figures_at(ledger_, *item, *slot, asked(*item));
  if (somebody_leaves_ && std::ranges::any_of(figures, is_short)) {
    if (old_room != holdings_.end()) ledger_.reserve(old_room->second);
    return false;
  }
  take_room(key, *item, *slot);
  return true;
}

std::optional<Slot> Door::slot_of(const model::RuntimeId& runtime) const {
  const auto& runtimes = nodes_.front().info->runtimes;
  const auto found = std::ranges::find(runtimes, runtime, &model::Runtime::id);
  if (found == runtimes.end()) return std::nullopt;
  return Slot{0, static_cast<std::size_t>(found - runtimes.begin())};
}

Amounts Door::asked(const model::Item& item) const {
  return asked_of(item, nodes_.front().info->capacity, nodes_.front().settings);
}

void Door::take_room(const model::InstanceKey& key, const model::Item& item, Slot slot) {
  const Holding holding{.node = 0,
                        .runtime = slot.runtime,
                        .amounts = asked(item),
                        .shared_resources = taken_resources(item)};
  holdings_.insert_or_assign(key, holding);
  ledger_.reserve(holding);
}

std::set<model::InstanceKey> crowded_out(const Snapshot& snapshot, const Plan& plan) {
  std::set<model::NodeId> left;
  for (const Placement& placement : plan.placements) {
    if (placement.from) left.insert(placement.from->node);
  }
  std::set<model::InstanceKey> keys;
  for (const SnapshotNode& node : snapshot.nodes) {
    if (left.contains(node.id)) Passage(snapshot, plan, node).add_crowded_out(keys);
  }
  return keys;
}

}  // namespace berth::placement
