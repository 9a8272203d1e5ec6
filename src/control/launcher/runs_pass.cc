#include "control/launcher/status.h"
#include "control/passes.h"

namespace berth::control {
namespace {

// A node that is not connected does not block the call.
bool is_at_rest(const Context& context, const model::InstanceKey& key) {
  const auto status = status_of(context, key);
  if (!status || status->state != model::InstanceState::Activating) return true;
  if (!status->place) return false;
  const ObservedNode* node = context.find_node(status->place->node);
  return node == nullptr || !node->reachable();
}

Finished finish(const Context& context, const PendingRun& run) {
  Finished finished{.timed_out = !run.restless.empty(), .statuses = {}};
  for (const model::InstanceKey& key : run.statuses_of) {
    if (auto status = status_of(context, key)) finished.statuses.push_back(*std::move(status));
  }
  return finished;
}

}  // namespace

void runs_pass(Context& context) {
  for (auto& [call, accepted] : context.planned_calls) {
    accepted.revision = context.state.revision();
    context.effects.replies.push_back({call, std::move(accepted)});
  }
  context.planned_calls.clear();
  std::erase_if(context.runs, [&](PendingRun& run) {
    std::erase_if(run.restless, [&](const model::InstanceKey& key) {
      return context.dirty.statuses.contains(key) && is_at_rest(context, key);
    });
    if (!run.restless.empty() && context.now < run.deadline) return false;
    context.effects.replies.push_back({run.call, finish(context, run)});
    return true;
  });
}

}  // namespace berth::control
