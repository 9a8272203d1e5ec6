#include "control/launcher/start_gate.h"

#include <algorithm>
#include <ranges>
#include <vector>

#include "control/launcher/snapshot.h"
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
    for (const auto& [key, told] : node.told) occupy(key, told.version, told.runtime);
    for (const auto& [key, status] : node.reported) {
      if (!node.told.contains(key)) occupy_leaving(key, status.version, status.runtime);
    }
  }

  // Whether somebody will make room without our doing more.
  bool somebody_leaves() const { return somebody_leaves_; }

  bool admit(const model::InstanceRecord& record) {
    const model::Item* item = find_item(record.key, record.version);
    const auto slot = slot_of(record.place->runtime);
    if (item == nullptr || !slot) return true;
    const auto figures = placement::figures_at(ledger_, *item, *slot, asked(*item));
    if (somebody_leaves_ && std::ranges::any_of(figures, placement::is_short)) return false;
    occupy(record.key, record.version, record.place->runtime);
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
    ledger_.reserve({.node = 0,
                     .runtime = slot->runtime,
                     .amounts = asked(*item),
                     .shared_resources = placement::taken_resources(*item)});
  }

  void occupy_leaving(const model::InstanceKey& key, const std::string& version,
                      const model::RuntimeId& runtime) {
    const auto* record = context_.state.find_instance(key);
    if (record != nullptr && record->preinstalled) return;
    occupy(key, version, runtime);
  }

  const Context& context_;
  const model::NodeId& id_;
  const std::vector<placement::NodeView> views_;
  placement::Ledger ledger_;
  bool somebody_leaves_ = false;
};

bool scheduled_before(const model::InstanceRecord& a, const model::InstanceRecord& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  return a.key < b.key;
}

std::vector<const model::InstanceRecord*> in_scheduling_order(
    const Context& context, const std::set<model::InstanceKey>& keys) {
  std::vector<const model::InstanceRecord*> records;
  for (const auto& key : keys) records.push_back(context.state.find_instance(key));
  std::ranges::sort(records, [](const auto* a, const auto* b) { return scheduled_before(*a, *b); });
  return records;
}

bool leaves_later_than(const model::InstanceRecord& candidate, const model::NodeId& node,
                       const model::InstanceRecord& waiting) {
  return candidate.leaving && candidate.leaving->place.node == node &&
         !candidate.leaving->stop_first && scheduled_before(waiting, candidate);
}

}  // namespace

GateAnswer ask_gate(const Context& context, const model::NodeId& id,
                    const std::set<model::InstanceKey>& newcomers) {
  GateAnswer answer;
  if (newcomers.empty()) return answer;
  Gate gate(context, id);
  if (!gate.somebody_leaves()) {
    answer.admitted = newcomers;
    return answer;
  }
  for (const model::InstanceRecord* newcomer : in_scheduling_order(context, newcomers)) {
    if (gate.admit(*newcomer)) {
      answer.admitted.insert(newcomer->key);
      continue;
    }
    answer.held_back.insert(newcomer->key);
    for (const model::InstanceKey& key : context.state.instances_on(id)) {
      const auto* other = context.state.find_instance(key);
      if (leaves_later_than(*other, id, *newcomer)) answer.hurried.insert(key);
    }
  }
  return answer;
}

}  // namespace berth::control
