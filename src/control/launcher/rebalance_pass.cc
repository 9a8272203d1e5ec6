#include <algorithm>

#include "control/launcher/rebalancing.h"
#include "control/passes.h"

namespace berth::control {
namespace {

bool is_resting(const Context& context) {
  const Rebalancing& rebalancing = context.rebalancing;
  return context.reachability.settled() && !rebalancing.run &&
         rebalancing.not_before <= context.now;
}

Time next_attempt(const Context& context, const model::NodeId& id) {
  return context.loads.next_attempt(context, id, context.nodes.at(id), context.cluster_changes);
}

std::set<model::NodeId> due_nodes(const Context& context) {
  std::set<model::NodeId> due;
  for (const model::NodeId& id : context.loads.overloaded()) {
    if (next_attempt(context, id) <= context.now) due.insert(id);
  }
  return due;
}

}  // namespace

void rebalance_ended(Context& context, std::size_t moved) {
  Rebalancing& rebalancing = context.rebalancing;
  rebalancing.run.reset();
  // Averages tell of the new places only when they have been measured for as long as is averaged;
  // and if nobody moved, another attempt finds nothing else before the nodes have spoken again.
  rebalancing.not_before =
      context.now + (moved == 0 ? context.config.heartbeat : context.config.usage_window);
}

Time next_rebalance(const Context& context) {
  const Rebalancing& rebalancing = context.rebalancing;
  if (!context.reachability.settled() || rebalancing.run) return kNever;
  Time next = rebalancing.queue.empty() ? kNever : rebalancing.not_before;
  for (const model::NodeId& id : context.loads.overloaded()) {
    next = std::min(next, std::max(next_attempt(context, id), rebalancing.not_before));
  }
  return next;
}

// One at a time: who asked for it first, then the nodes that are overloaded and have had no attempt
// yet, or whose last one is long ago or was in another cluster. The launcher carries it out.
void rebalance_pass(Context& context) {
  Rebalancing& rebalancing = context.rebalancing;
  if (!is_resting(context)) return;
  if (!rebalancing.queue.empty()) {
    const RebalanceCall call = rebalancing.queue.front();
    rebalancing.queue.pop_front();
    rebalancing.now = Rebalance{.call = call.call, .scope = call.scope, .only = std::nullopt};
  } else if (auto due = due_nodes(context); !due.empty()) {
    rebalancing.now = Rebalance{
        .call = std::nullopt, .scope = RebalanceScope::Overloaded, .only = std::move(due)};
  }
  if (rebalancing.now) context.dirty.plan = true;
}

}  // namespace berth::control
