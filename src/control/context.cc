#include "control/context.h"

#include "control/launcher/countdown.h"
#include "control/launcher/rollouts.h"

namespace berth::control {

void Context::mark(const model::InstanceRecord& record) {
  dirty.statuses.insert(record.key);
  if (record.place) dirty.wanted.emplace(record.place->node, record.key);
  if (record.leaving) dirty.wanted.emplace(record.leaving->place.node, record.key);
  if (record.phase != model::Phase::Erasing) return;
  for (const model::NodeId& node : record.data_on) dirty.wanted.emplace(node, record.key);
}

void Context::put(const model::InstanceRecord& record) {
  const auto* known = state.find<model::InstanceRecord>(record.key);
  const bool same_run =
      known != nullptr && known->place == record.place && known->version == record.version;
  const bool runs_on = known != nullptr && known->version == record.version && record.place;
  if (known != nullptr) mark(*known);
  state.put(record);
  mark(record);
  count_down(*this, record);
  if (!same_run) look_at_rollout_again(*this, record.key);
  if (!runs_on) forget_outdated(*this, record.key);
}

void Context::erase(model::InstanceKey key) {
  if (const auto* known = state.find<model::InstanceRecord>(key)) mark(*known);
  state.erase<model::InstanceRecord>(key);
  stop_counting_down(*this, key);
  dirty.plan = true;
  // A component that was left alone beside it, under the same name, can be adopted now.
  for (const auto& [id, node] : nodes) {
    if (node.reported.contains(key)) dirty.wanted.emplace(id, key);
  }
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
