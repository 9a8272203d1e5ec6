#include "control/cluster/reachability.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "control/context.h"

namespace berth::control {
namespace {

// What the clocks say of a node. The moments are counted from its last message, or from the break
// of its stream.
Liveness liveness_of(const Step& step, const ObservedNode& node) {
  const Config& config = step.config;
  const Duration silent = step.now - node.last_heard;
  if (silent >= config.node_lost_grace) return Liveness::Lost;
  if (node.in_touch()) {
    return silent >= config.silent_after ? Liveness::Unreachable : Liveness::Reachable;
  }
  const bool broken = step.now - node.out_of_touch_since >= config.broken_after;
  return broken ? std::max(node.liveness, Liveness::Unreachable) : node.liveness;
}

// When the clocks may say something else, if nothing happens until then.
Time next_change_of(const Config& config, const ObservedNode& node) {
  if (node.liveness == Liveness::Lost) return kNever;
  const Time lost = node.last_heard + config.node_lost_grace;
  if (node.liveness == Liveness::Unreachable) return lost;
  return std::min(lost, node.in_touch() ? node.last_heard + config.silent_after
                                        : node.out_of_touch_since + config.broken_after);
}

void note_change(Step& step, const model::NodeId& id, Liveness from, Liveness to) {
  switch (to) {
    case Liveness::Reachable:
      if (from == Liveness::Unknown) return;  // it was not away
      step.note(NoteKind::NodeBack, id, fmt::format("was {}", to_string(from)));
      return;
    case Liveness::Unreachable:
      step.note(NoteKind::NodeUnreachable, id, "gets nothing new and keeps what it runs");
      return;
    case Liveness::Lost:
      step.note(NoteKind::NodeLost, id, "what may move is placed elsewhere");
      return;
    case Liveness::Unknown: return;
  }
}

}  // namespace

void Reachability::restore(const Step& step, Nodes& nodes) {
  started_at_ = step.now;
  for (const auto& [id, record] : step.state.durable().nodes) {
    ObservedNode& node = nodes[id];
    node.last_heard = step.now;
    node.has_spoken = true;
    node.out_of_touch_since = step.now;
    node.info = record.info;
    look_at(id);
    unheard_.insert(id);
    untold_.insert(id);
  }
}

void Reachability::has_reported(const model::NodeId& node) {
  unheard_.erase(node);
  look_at(node);
}

void Reachability::forget(const model::NodeId& node) {
  marked_.erase(node);
  unheard_.erase(node);
  untold_.erase(node);
  alarms_.set(node, std::nullopt);
}

// An early alarm only looks, and is set again.
void Reachability::update(Context& context, const model::NodeId& id, ObservedNode& node) {
  const Liveness before = node.liveness;
  node.liveness = liveness_of(context, node);
  const Time next = next_change_of(context.config, node);
  if (next != kNever) alarms_.set_earlier(id, next);
  if (node.liveness == before) return;
  note_change(context, id, before, node.liveness);
  context.mark_all_on(id);
  context.loads.look_at(id);
  context.readiness.look_at(id);
  context.sessions.look_at(context, id, node);
  context.launcher.cluster_changed();
}

void Reachability::settle(Context& context) {
  if (settled_) return;
  const bool waited = context.now - *started_at_ >= context.config.settle_time;
  if (!waited && !unheard_.empty()) return;
  settled_ = true;
  context.launcher.plan_anew();
  for (const auto& [id, node] : context.nodes) context.mark_all_on(id);
  context.note(NoteKind::Settled, std::string(),
               waited ? "some agents are silent" : "all agents have reported");
}

void Reachability::decide(Context& context) {
  for (const model::NodeId& id : alarms_.take_due(context.now)) look_at(id);
  for (const model::NodeId& id : std::exchange(marked_, {})) {
    if (ObservedNode* node = context.find_node(id)) update(context, id, *node);
  }
  settle(context);
}

Time Reachability::next(const Step& step) const {
  if (settled_) return next_change();
  return std::min(next_change(), *started_at_ + step.config.settle_time);
}

}  // namespace berth::control
