#include "control/context.h"

#include <iterator>
#include <ranges>

#include "control/launcher/rollouts.h"

namespace berth::control {
namespace {

// A node can have thousands of them: each is put beside the one before, without a search.
template <class Keys>
void mark_in_order(Dirty& dirty, const model::NodeId& id, const Keys& keys) {
  std::set<model::InstanceKey>& statuses = dirty.statuses;
  auto& wanted = dirty.wanted;
  auto status = statuses.begin();
  auto order = wanted.lower_bound({id, model::InstanceKey{}});
  for (const model::InstanceKey& key : keys) {
    status = std::next(statuses.insert(status, key));
    order = std::next(wanted.insert(order, {id, key}));
  }
}

}  // namespace

void Context::mark(const model::InstanceRecord& record) {
  dirty.statuses.insert(record.key);
  if (record.place) dirty.wanted.emplace(record.place->node, record.key);
  if (record.leaving) dirty.wanted.emplace(record.leaving->place.node, record.key);
  if (record.phase != model::Phase::Erasing) return;
  for (const model::NodeId& node : record.data_on) dirty.wanted.emplace(node, record.key);
}

void Context::mark_all_on(const model::NodeId& id) {
  dirty.letters.insert(id);
  mark_in_order(dirty, id, state.instances_on(id));
  const ObservedNode* node = find_node(id);
  if (node == nullptr) return;
  mark_in_order(dirty, id, std::views::keys(node->reported));
  mark_in_order(dirty, id, std::views::keys(node->told));
  mark_in_order(dirty, id, std::views::keys(node->stopping));
  mark_in_order(dirty, id, std::views::keys(node->erasing));
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
  if (!same_run) look_at_rollout_again(*this, record.key);
  if (!runs_on) forget_outdated(*this, record.key);
}

void Context::erase(model::InstanceKey key) {
  if (const auto* known = state.find<model::InstanceRecord>(key)) mark(*known);
  state.erase<model::InstanceRecord>(key);
  lifetime.forget(key);
  dirty.plan = true;
  // A component that was left alone beside it, under the same name, can be adopted now.
  for (const auto& [id, node] : nodes) {
    if (node.reported.contains(key)) dirty.wanted.emplace(id, key);
  }
}

void Context::forget(const model::NodeId& id) {
  reachability.forget(id);
  readiness.forget(id);
  loads.forget(id);
  network.forget(id);
  holding_back.erase(id);
  nodes.erase(id);
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
