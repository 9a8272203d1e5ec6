#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>

#include "control/cluster/alarms.h"
#include "control/passes.h"

namespace berth::control {
namespace {

// What the clocks say of a node. The moments are counted from its last message, or from the break
// of its stream.
Liveness liveness_of(const Context& context, const ObservedNode& node) {
  const Config& config = context.config;
  const Duration silent = context.now - node.last_heard;
  if (silent >= config.node_lost_grace) return Liveness::Lost;
  if (node.in_touch()) {
    return silent >= config.silent_after ? Liveness::Unreachable : Liveness::Reachable;
  }
  const bool broken = context.now - node.out_of_touch_since >= config.broken_after;
  return broken ? std::max(node.liveness, Liveness::Unreachable) : node.liveness;
}

// When the clocks may say something else, if nothing happens until then.
Time next_change(const Context& context, const ObservedNode& node) {
  const Config& config = context.config;
  if (node.liveness == Liveness::Lost) return kNever;
  const Time lost = node.last_heard + config.node_lost_grace;
  if (node.liveness == Liveness::Unreachable) return lost;
  return std::min(lost, node.in_touch() ? node.last_heard + config.silent_after
                                        : node.out_of_touch_since + config.broken_after);
}

void note_change(Context& context, const model::NodeId& id, Liveness from, Liveness to) {
  switch (to) {
    case Liveness::Reachable:
      if (from == Liveness::Unknown) return;  // it was not away
      context.note(NoteKind::NodeBack, id, fmt::format("was {}", to_string(from)));
      return;
    case Liveness::Unreachable:
      context.note(NoteKind::NodeUnreachable, id, "gets nothing new and keeps what it runs");
      return;
    case Liveness::Lost:
      context.note(NoteKind::NodeLost, id, "what may move is placed elsewhere");
      return;
    case Liveness::Unknown: return;
  }
}

void update_node(Context& context, const model::NodeId& id, ObservedNode& node) {
  const Liveness before = node.liveness;
  node.liveness = liveness_of(context, node);
  arm(context, id, node, next_change(context, node));
  if (node.liveness == before) return;
  note_change(context, id, before, node.liveness);
  mark_all_on(context, id);
  context.dirty.loads.insert(id);
  context.dirty.readiness.insert(id);
  context.dirty.plan = true;
  ++context.cluster_changes;
}

void collect_due_nodes(Context& context) {
  auto& alarms = context.node_alarms;
  while (!alarms.empty() && alarms.begin()->first <= context.now) {
    const model::NodeId id = alarms.begin()->second;
    alarms.erase(alarms.begin());
    context.nodes.at(id).alarm = kNever;
    context.dirty.nodes.insert(id);
  }
}

// After a start nothing is decided before the known agents had a chance to say what they run.
void settle(Context& context) {
  if (context.settled) return;
  const bool waited = context.now - *context.started_at >= context.config.settle_time;
  if (!waited && !context.awaited.empty()) return;
  context.settled = true;
  context.dirty.plan = true;
  context.awaited.clear();
  for (const auto& [id, node] : context.nodes) mark_all_on(context, id);
  context.note(NoteKind::Settled, std::string(),
               waited ? "some agents are silent" : "all agents have reported");
}

// A node can have thousands of them: each is put beside the one before, without a search.
template <class Keys>
void mark_in_order(Context& context, const model::NodeId& id, const Keys& keys) {
  std::set<model::InstanceKey>& statuses = context.dirty.statuses;
  auto& wanted = context.dirty.wanted;
  auto status = statuses.begin();
  auto order = wanted.lower_bound({id, model::InstanceKey{}});
  for (const model::InstanceKey& key : keys) {
    status = std::next(statuses.insert(status, key));
    order = std::next(wanted.insert(order, {id, key}));
  }
}

}  // namespace

void arm(Context& context, const model::NodeId& id, ObservedNode& node, Time at) {
  if (at >= node.alarm) return;  // an early alarm only looks, and arms again
  if (node.alarm != kNever) context.node_alarms.erase({node.alarm, id});
  node.alarm = at;
  context.node_alarms.emplace(at, id);
}

void mark_all_on(Context& context, const model::NodeId& id) {
  context.dirty.letters.insert(id);
  mark_in_order(context, id, context.state.instances_on(id));
  const ObservedNode* node = context.find_node(id);
  if (node == nullptr) return;
  mark_in_order(context, id, std::views::keys(node->reported));
  mark_in_order(context, id, std::views::keys(node->told));
  mark_in_order(context, id, std::views::keys(node->stopping));
  mark_in_order(context, id, std::views::keys(node->erasing));
}

void nodes_pass(Context& context) {
  collect_due_nodes(context);
  for (const model::NodeId& id : context.dirty.nodes) {
    if (ObservedNode* node = context.find_node(id)) update_node(context, id, *node);
  }
  settle(context);
}

}  // namespace berth::control
