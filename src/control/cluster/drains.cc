#include "control/cluster/drains.h"

#include <algorithm>

#include "control/context.h"

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
  return context.sessions.pools().on(id).empty() &&
         std::ranges::none_of(context.state.instances_on(id), must_go) &&
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

void enforce(Context& context, const model::NodeId& id) {
  hurry_leavers(context, id);
  model::NodeRecord record = context.state.durable().nodes.at(id);
  record.drain->overdue = true;
  context.state.put(record);
  context.launcher.plan_anew();
  context.note(NoteKind::NodeDraining, id, "the deadline has passed: what is left is stopped");
}

}  // namespace

void Drains::begin(const Step& step, const model::NodeRecord& record) {
  if (!record.drain) return;
  const bool limited = record.drain->deadline > Duration{} && !record.drain->overdue;
  drains_[record.id] = {limited ? step.now + record.drain->deadline : kNever, false};
}

void Drains::write_down(Step& step, Duration step_down) const {
  for (const auto& [id, drain] : drains_) {
    if (drain.deadline == kNever) continue;
    const auto* known = step.state.find<model::NodeRecord>(id);
    if (known == nullptr || !known->drain) continue;
    const Duration left = std::max(drain.deadline - step.now, kShortestDeadline);
    if (left >= known->drain->deadline || known->drain->deadline - left < step_down) continue;
    model::NodeRecord record = *known;
    record.drain->deadline = left;
    step.state.put(record);
  }
}

void Drains::decide(Context& context) {
  std::erase_if(drains_, [&](const auto& entry) {
    const auto* node = context.state.find<model::NodeRecord>(entry.first);
    return node == nullptr || !node->drain;
  });
  for (auto& [id, drain] : drains_) {
    if (drain.deadline > context.now) continue;
    drain.deadline = kNever;
    enforce(context, id);
  }
}

void Drains::find_done(Context& context) {
  if (!context.reachability.settled()) return;
  for (auto& [id, drain] : drains_) {
    const bool done = is_empty(context, id);
    if (done && !drain.done) context.note(NoteKind::NodeDrained, id, "nothing is left on it");
    drain.done = done;
  }
}

Time Drains::next() const {
  Time next = kNever;
  for (const auto& [id, drain] : drains_) next = std::min(next, drain.deadline);
  return next;
}

}  // namespace berth::control
