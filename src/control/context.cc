#include "control/context.h"

namespace berth::control {

void Context::mark(const model::InstanceRecord& record) {
  dirty.statuses.insert(record.key);
  if (record.place) dirty.wanted.emplace(record.place->node, record.key);
  if (record.leaving) dirty.wanted.emplace(record.leaving->place.node, record.key);
}

void Context::put(const model::InstanceRecord& record) {
  if (const auto* known = state.find_instance(record.key)) mark(*known);
  state.put(record);
  mark(record);
}

void Context::erase(model::InstanceKey key) {
  if (const auto* known = state.find_instance(key)) mark(*known);
  state.erase_instance(key);
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
