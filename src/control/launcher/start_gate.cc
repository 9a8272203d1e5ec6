#include "control/launcher/start_gate.h"

#include <algorithm>
#include <map>
#include <vector>

#include "control/launcher/snapshot.h"
#include "control/launcher/wanted.h"
#include "placement/asked.h"
#include "placement/room.h"

namespace berth::control {
namespace {

// The node alone, with everything that may be running on it now.
class Gate {
 public:
  Gate(const Context& context, const model::NodeId& id)
      : context_(context),
        id_(id),
        views_{view_of(context, context.state.durable().nodes.at(id), context.nodes.at(id))},
        ledger_(views_, placement::Ledger::Capacity::Full) {
    const ObservedNode& node = context.nodes.at(id);
    for (const auto& [key, order] : node.told) occupy(key, order.what.version, order.what.runtime);
    for (const auto& [key, status] : node.reported) {
      const bool preinstalled = status.type == model::ItemType::Component;
      if (!node.told.contains(key) && !preinstalled) occupy(key, status.version, status.runtime);
    }
    // Its agent may have begun to start it, and has not said so yet.
    for (const auto& [key, what] : node.revoked) {
      const bool counted = node.told.contains(key) || node.reported.contains(key);
      if (!counted) occupy(key, what.version, what.runtime);
    }
  }

  // One that is there already, in another version, goes from its old room to the new one.
  bool admit(const model::InstanceKey& key, const Told& wanted) {
    const model::Item* item = find_item(key, wanted.version);
    const auto slot = slot_of(wanted.runtime);
    if (item == nullptr || !slot) return true;
    const auto old_room = holdings_.find(key);
    if (old_room != holdings_.end()) ledger_.release(old_room->second);
    const auto figures = placement::figures_at(ledger_, *item, *slot, asked(*item));
    if (somebody_leaves_ && std::ranges::any_of(figures, placement::is_short)) {
      if (old_room != holdings_.end()) ledger_.reserve(old_room->second);
      return false;
    }
    occupy(key, wanted.version, wanted.runtime);
    return true;
  }

 private:
  const model::Item* find_item(const model::InstanceKey& key, const std::string& version) const {
    const auto& items = context_.state.durable().items;
    const auto found = items.find({key.item, version});
    return found == items.end() ? nullptr : &found->second;
  }

  std::optional<placement::Slot> slot_of(const model::RuntimeId& runtime) const {
    const auto& runtimes = views_.front().info->runtimes;
    const auto found = std::ranges::find(runtimes, runtime, &model::Runtime::id);
    if (found == runtimes.end()) return std::nullopt;
    return placement::Slot{0, static_cast<std::size_t>(found - runtimes.begin())};
  }

  placement::Amounts asked(const model::Item& item) const {
    return placement::asked_of(item, views_.front().info->capacity, views_.front().settings);
  }

  void occupy(const model::InstanceKey& key, const std::string& version,
              const model::RuntimeId& runtime) {
    const auto* record = context_.state.find_instance(key);
    const bool stays = record != nullptr && record->place && record->place->node == id_;
    if (!stays) somebody_leaves_ = true;
    const model::Item* item = find_item(key, version);
    const auto slot = slot_of(runtime);
    if (item == nullptr || !slot) return;
    const placement::Holding holding{.node = 0,
                                     .runtime = slot->runtime,
                                     .amounts = asked(*item),
                                     .shared_resources = placement::taken_resources(*item)};
    holdings_.insert_or_assign(key, holding);
    ledger_.reserve(holding);
  }

  const Context& context_;
  const model::NodeId& id_;
  const std::vector<placement::NodeView> views_;
  placement::Ledger ledger_;
  std::map<model::InstanceKey, placement::Holding> holdings_;
  bool somebody_leaves_ = false;
};

bool scheduled_before(const model::InstanceRecord& a, const model::InstanceRecord& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  return a.key < b.key;
}

std::vector<const model::InstanceRecord*> in_scheduling_order(
    const Context& context, const std::map<model::InstanceKey, Told>& newcomers) {
  std::vector<const model::InstanceRecord*> records;
  for (const auto& [key, wanted] : newcomers) records.push_back(context.state.find_instance(key));
  std::ranges::sort(records, [](const auto* a, const auto* b) { return scheduled_before(*a, *b); });
  return records;
}

// What has its room elsewhere and is being prepared there waits for nobody, and stops when that is
// done.
bool is_being_prepared(const Context& context, const model::InstanceRecord& record) {
  const model::NodeId& id = record.place->node;
  const ObservedNode& target = context.nodes.at(id);
  if (!record.leaving->hand_over || !target.reachable()) return false;
  if (target.told.contains(record.key)) return true;
  const auto wanted = wanted_on(context, id, record.key);
  return wanted && Gate(context, id).admit(record.key, *wanted);
}

bool leaves_later_than(const Context& context, const model::InstanceRecord& candidate,
                       const model::NodeId& node, const model::InstanceRecord& waiting) {
  return candidate.leaving && candidate.leaving->place.node == node &&
         !candidate.leaving->stop_first && scheduled_before(waiting, candidate) &&
         !is_being_prepared(context, candidate);
}

}  // namespace

GateAnswer ask_gate(const Context& context, const model::NodeId& id,
                    const std::map<model::InstanceKey, Told>& newcomers) {
  GateAnswer answer;
  if (newcomers.empty()) return answer;
  Gate gate(context, id);
  for (const model::InstanceRecord* newcomer : in_scheduling_order(context, newcomers)) {
    if (gate.admit(newcomer->key, newcomers.at(newcomer->key))) {
      answer.admitted.insert(newcomer->key);
      continue;
    }
    answer.held_back.insert(newcomer->key);
    for (const model::InstanceKey& key : context.state.instances_on(id)) {
      const auto* other = context.state.find_instance(key);
      if (leaves_later_than(context, *other, id, *newcomer)) answer.hurried.insert(key);
    }
  }
  return answer;
}

}  // namespace berth::control
