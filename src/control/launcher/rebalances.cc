#include "control/launcher/rebalances.h"

#include <fmt/format.h>

#include <algorithm>

#include "control/context.h"

namespace berth::control {
namespace {

Time next_attempt(const Context& context, const model::NodeId& id) {
  return context.loads.next_attempt(context, id, context.nodes.at(id),
                                    context.launcher.cluster_changes());
}

std::set<model::NodeId> due_nodes(const Context& context) {
  std::set<model::NodeId> due;
  for (const model::NodeId& id : context.loads.overloaded()) {
    if (next_attempt(context, id) <= context.now) due.insert(id);
  }
  return due;
}

}  // namespace

void Rebalances::record(Context& context, const RebalanceCall& call) {
  if (queue_.size() >= context.config.rebalances_max) {
    return Calls::refuse(
        context, call.call,
        Error{Code::Exhausted, fmt::format("{} rebalances wait already; try again when they are "
                                           "done",
                                           queue_.size())});
  }
  queue_.push_back(call);
}

bool Rebalances::may_begin(const Context& context) const {
  return context.reachability.settled() && !run_ && not_before_ <= context.now;
}

void Rebalances::decide(Context& context) {
  if (!may_begin(context)) return;
  if (!queue_.empty()) {
    const RebalanceCall call = queue_.front();
    queue_.pop_front();
    due_ = Rebalance{.call = call.call, .scope = call.scope, .only = std::nullopt};
  } else if (auto nodes = due_nodes(context); !nodes.empty()) {
    due_ = Rebalance{
        .call = std::nullopt, .scope = RebalanceScope::Overloaded, .only = std::move(nodes)};
  }
  if (due_) context.launcher.plan_anew();
}

// Averages tell of the new places only when they have been measured for as long as is averaged; and
// if nobody moved, another attempt finds nothing else before the nodes have spoken again.
void Rebalances::ended(const Context& context, std::size_t moved) {
  run_.reset();
  not_before_ = context.now + (moved == 0 ? context.config.heartbeat : context.config.usage_window);
}

Time Rebalances::next(const Context& context) const {
  if (!context.reachability.settled() || run_) return kNever;
  Time next = queue_.empty() ? kNever : not_before_;
  for (const model::NodeId& id : context.loads.overloaded()) {
    next = std::min(next, std::max(next_attempt(context, id), not_before_));
  }
  return next;
}

}  // namespace berth::control
