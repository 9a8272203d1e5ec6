#include "control/context.h"

#include <algorithm>
#include <iterator>
#include <ranges>

namespace berth::control {
namespace {

// A node can have thousands of them: each is put beside the one before, without a search.
template <class Keys>
void mark_in_order(Changes& changes, const model::NodeId& id, const Keys& keys) {
  std::set<model::InstanceKey>& statuses = changes.instances;
  auto& wanted = changes.on_nodes;
  auto status = statuses.begin();
  auto order = wanted.lower_bound({id, model::InstanceKey{}});
  for (const model::InstanceKey& key : keys) {
    status = std::next(statuses.insert(status, key));
    order = std::next(wanted.insert(order, {id, key}));
  }
}

}  // namespace

void Context::mark(const model::InstanceRecord& record) {
  changes.instances.insert(record.key);
  if (record.place) changes.on_nodes.emplace(record.place->node, record.key);
  if (record.leaving) changes.on_nodes.emplace(record.leaving->place.node, record.key);
  if (record.phase != model::Phase::Erasing) return;
  for (const model::NodeId& node : record.data_on) changes.on_nodes.emplace(node, record.key);
}

void Context::mark_all_on(const model::NodeId& id) {
  orders.look_at(id);
  mark_in_order(changes, id, state.instances_on(id));
  const ObservedNode* node = find_node(id);
  if (node == nullptr) return;
  mark_in_order(changes, id, std::views::keys(node->reported));
  mark_in_order(changes, id, std::views::keys(node->orders->run));
  mark_in_order(changes, id, std::views::keys(node->orders->stopping));
  mark_in_order(changes, id, std::views::keys(node->orders->erasing));
}

void Context::put(const model::InstanceRecord& record) {
  const auto* known = state.find<model::InstanceRecord>(record.key);
  const bool same_run =
      known != nullptr && known->place == record.place && known->version == record.version;
  const bool runs_on = known != nullptr && known->version == record.version && record.place;
  if (known != nullptr) mark(*known);
  state.put(record);
  mark(record);
  lifetime.follow(*this, record);
  if (!same_run) rollouts.look_again(record.key);
  if (!runs_on) Rollouts::forget_outdated(*this, record.key);
}

void Context::erase(model::InstanceKey key) {
  if (const auto* known = state.find<model::InstanceRecord>(key)) mark(*known);
  state.erase<model::InstanceRecord>(key);
  lifetime.forget(key);
  launcher.plan_anew();
  // A component that was left alone beside it, under the same name, can be adopted now.
  for (const auto& [id, node] : nodes) {
    if (node.reported.contains(key)) changes.on_nodes.emplace(id, key);
  }
}

void Context::forget(const model::NodeId& id) {
  for_each_room(*this, [&](auto& room) {
    if constexpr (requires { room.forget(id); }) room.forget(id);
    if constexpr (requires { room.forget(*this, id); }) room.forget(*this, id);
  });
  nodes.erase(id);
}

Time Context::next() const {
  Time next = kNever;
  for_each_room(*this, [&](const auto& room) {
    if constexpr (requires { room.next(); }) next = std::min(next, room.next());
    if constexpr (requires { room.next(*this); }) next = std::min(next, room.next(*this));
  });
  return next;
}

ObservedNode* Context::find_node(const model::NodeId& id) {
  const auto found = nodes.find(id);
  return found == nodes.end() ? nullptr : &found->second;
}

const ObservedNode* Context::find_node(const model::NodeId& id) const {
  const auto found = nodes.find(id);
  return found == nodes.end() ? nullptr : &found->second;
}

}  // namespace berth::control
