#include <algorithm>

#include "control/cluster/drain.h"
#include "control/passes.h"

namespace berth::control {
namespace {

constexpr Duration kShortestDeadline{1};  // 0 would mean that there is none

bool is_service(const Context& context, const model::InstanceKey& key) {
  const auto* record = context.state.find<model::InstanceRecord>(key);
  return record == nullptr || record->type != model::ItemType::Component;
}

bool has_finished(const ObservedNode& node, const model::InstanceKey& key) {
  const auto status = node.reported.find(key);
  return status != node.reported.end() && status->second.finished;
}

// Done only when the node itself says that nothing is left, but for what has done its work there.
bool is_empty(const Context& context, const model::NodeId& id) {
  const ObservedNode* node = context.find_node(id);
  if (node == nullptr || !node->in_touch()) return false;
  const auto must_go = [&](const model::InstanceKey& key) {
    return is_service(context, key) && !has_finished(*node, key);
  };
  return std::ranges::none_of(context.state.instances_on(id), must_go) &&
         std::ranges::none_of(node->reported, [](const auto& entry) {
           return entry.second.type != model::ItemType::Component && !entry.second.finished;
         });
}

// What has another place already, and runs here until it is active there, waits no longer.
void hurry_leavers(Context& context, const model::NodeId& id) {
  const std::set<model::InstanceKey> keys = context.state.instances_on(id);
  for (const model::InstanceKey& key : keys) {
    model::InstanceRecord record = *context.state.find<model::InstanceRecord>(key);
    if (!record.leaving || record.leaving->place.node != id) continue;
    record.leaving->stop_first = true;
    context.put(record);
  }
}

void enforce(Context& context, const model::NodeId& id, Drain& drain) {
  drain.deadline = kNever;
  hurry_leavers(context, id);
  model::NodeRecord record = context.state.durable().nodes.at(id);
  record.drain->overdue = true;
  context.state.put(record);
  context.dirty.plan = true;
  context.note(NoteKind::NodeDraining, id, "the deadline has passed: what is left is stopped");
}

}  // namespace

void begin_drain(Context& context, const model::NodeRecord& record) {
  if (!record.drain) return;
  const bool limited = record.drain->deadline > Duration{} && !record.drain->overdue;
  context.drains[record.id] = {limited ? context.now + record.drain->deadline : kNever, false};
}

void write_down_drains(Context& context, Duration step) {
  for (const auto& [id, drain] : context.drains) {
    if (drain.deadline == kNever) continue;
    const auto& nodes = context.state.durable().nodes;
    const auto known = nodes.find(id);
    if (known == nodes.end() || !known->second.drain) continue;
    const Duration left = std::max(drain.deadline - context.now, kShortestDeadline);
    if (left >= known->second.drain->deadline || known->second.drain->deadline - left < step) {
      continue;
    }
    model::NodeRecord record = known->second;
    record.drain->deadline = left;
    context.state.put(record);
  }
}

void drain_pass(Context& context) {
  const auto& nodes = context.state.durable().nodes;
  std::erase_if(context.drains, [&](const auto& entry) {
    const auto node = nodes.find(entry.first);
    return node == nodes.end() || !node->second.drain;
  });
  for (auto& [id, drain] : context.drains) {
    if (drain.deadline <= context.now) enforce(context, id, drain);
  }
}

void drained_pass(Context& context) {
  if (!context.settled) return;
  for (auto& [id, drain] : context.drains) {
    const bool done = is_empty(context, id);
    if (done && !drain.done) context.note(NoteKind::NodeDrained, id, "nothing is left on it");
    drain.done = done;
  }
}

}  // namespace berth::control
