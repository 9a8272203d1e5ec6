#include "control/orders/start_gate.h"

#include <algorithm>
#include <map>
#include <vector>

#include "control/context.h"
#include "control/launcher/snapshot.h"
#include "control/orders/wanted.h"
#include "placement/door.h"

namespace berth::control {
namespace {

const model::Item* find_item(const Context& context, const model::InstanceKey& key,
                             const std::string& version) {
  const auto& items = context.state.durable().items;
  const auto found = items.find({key.item, version});
  return found == items.end() ? nullptr : &found->second;
}

// The node alone, with everything that may be running on it now.
class Gate {
 public:
  Gate(const Context& context, const model::NodeId& id)
      : context_(context),
        id_(id),
        door_(view_of(context, context.state.durable().nodes.at(id), context.nodes.at(id))) {
    const ObservedNode& node = context.nodes.at(id);
    for (const auto& [key, order] : node.orders->run)
      occupy(key, order.what.version, order.what.runtime);
    for (const auto& [key, status] : node.reported) {
      const bool preinstalled = status.type == model::ItemType::Component;
      if (!node.orders->run.contains(key) && !preinstalled)
        occupy(key, status.version, status.runtime);
    }
    // Its agent may have begun to start it, and has not said so yet.
    for (const auto& [key, what] : node.orders->revoked) {
      const bool counted = node.orders->run.contains(key) || node.reported.contains(key);
      if (!counted) occupy(key, what.version, what.runtime);
    }
    for (const model::InstanceKey& key : context.sessions.pools().on(id)) occupy_by_pool(key);
  }

  bool admit(const model::InstanceKey& key, const Order& wanted) {
    return door_.admit(key, find_item(context_, key, wanted.version), wanted.runtime);
  }
  bool admit(const model::InstanceKey& key, const model::Item& item,
             const model::RuntimeId& runtime) {
    return door_.admit(key, &item, runtime);
  }

 private:
  using Stay = placement::Door::Stay;

  void occupy(const model::InstanceKey& key, const std::string& version,
              const model::RuntimeId& runtime) {
    const auto* record = context_.state.find<model::InstanceRecord>(key);
    const bool stays = record != nullptr && record->place && record->place->node == id_;
    door_.occupy(key, find_item(context_, key, version), runtime,
                 stays ? Stay::Stays : Stay::Leaves);
  }

  // One that its agent was not told of holds nothing there yet.
  void occupy_by_pool(const model::InstanceKey& key) {
    const PoolMember& member = *context_.sessions.pools().find_member(key);
    if (member.stage == PoolMember::Stage::Placed) return;
    const bool leaves = member.stage == PoolMember::Stage::Terminating;
    door_.occupy(key, member.edition.item.get(), member.place->runtime,
                 leaves ? Stay::Leaves : Stay::Stays);
  }

  const Context& context_;
  const model::NodeId& id_;
  placement::Door door_;
};

bool scheduled_before(const model::InstanceRecord& a, const model::InstanceRecord& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  return a.key < b.key;
}

std::vector<const model::InstanceRecord*> in_scheduling_order(
    const Context& context, const std::map<model::InstanceKey, Order>& newcomers) {
  std::vector<const model::InstanceRecord*> records;
  for (const auto& [key, wanted] : newcomers)
    records.push_back(context.state.find<model::InstanceRecord>(key));
  std::ranges::sort(records, [](const auto* a, const auto* b) { return scheduled_before(*a, *b); });
  return records;
}

// What has its room elsewhere and is being prepared there waits for nobody, and stops when that is
// done.
bool is_being_prepared(const Context& context, const model::InstanceRecord& record) {
  const model::NodeId& id = record.place->node;
  const ObservedNode& target = context.nodes.at(id);
  if (!record.leaving->hand_over || !target.reachable()) return false;
  if (target.orders->run.contains(record.key)) return true;
  const auto wanted = wanted_on(context, id, record.key);
  return wanted && Gate(context, id).admit(record.key, *wanted);
}

bool leaves_later_than(const Context& context, const model::InstanceRecord& candidate,
                       const model::NodeId& node, const model::InstanceRecord& waiting) {
  return candidate.leaving && candidate.leaving->place.node == node &&
         !candidate.leaving->stop_first && scheduled_before(waiting, candidate) &&
         !is_being_prepared(context, candidate);
}

bool is_anybody_leaving(const Context& context, const model::NodeId& id) {
  return !context.nodes.at(id).orders->leaving.empty() ||
         context.sessions.pools().is_anybody_leaving(id);
}

// Nobody leaves who could make room: nobody waits for that.
GateAnswer all_admitted(const std::map<model::InstanceKey, Order>& newcomers) {
  GateAnswer answer;
  for (const auto& [key, order] : newcomers) {
    answer.admitted.insert(answer.admitted.end(), key);
  }
  return answer;
}

}  // namespace

GateAnswer ask_gate(const Context& context, const model::NodeId& id,
                    const std::map<model::InstanceKey, Order>& newcomers) {
  GateAnswer answer;
  if (newcomers.empty()) return answer;
  if (!is_anybody_leaving(context, id)) return all_admitted(newcomers);
  Gate gate(context, id);
  for (const model::InstanceRecord* newcomer : in_scheduling_order(context, newcomers)) {
    if (gate.admit(newcomer->key, newcomers.at(newcomer->key))) {
      answer.admitted.insert(newcomer->key);
      continue;
    }
    answer.postponed.insert(newcomer->key);
    for (const model::InstanceKey& key : context.state.instances_on(id)) {
      const auto* other = context.state.find<model::InstanceRecord>(key);
      if (leaves_later_than(context, *other, id, *newcomer)) answer.hurried.insert(key);
    }
  }
  return answer;
}

bool has_room_now(const Context& context, const model::NodeId& id, const model::InstanceKey& key,
                  const model::Item& item, const model::RuntimeId& runtime) {
  if (!is_anybody_leaving(context, id)) return true;
  return Gate(context, id).admit(key, item, runtime);
}

}  // namespace berth::control
