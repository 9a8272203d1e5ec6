#include "control/calls/calls.h"

#include <utility>

#include "control/calls/consequences.h"
#include "control/context.h"

namespace berth::control {
namespace {

std::map<model::InstanceKey, model::Problem> all_refused(const Context& context) {
  std::map<model::InstanceKey, model::Problem> refused = context.network.problems();
  for (auto& [key, problem] : context.statuses.refusals()) refused.insert_or_assign(key, problem);
  return refused;
}

}  // namespace

std::vector<CallId> Calls::take_planned() {
  asked_ = {};
  return std::exchange(unplanned_, {});
}

void Calls::decide(Context& context) {
  if (accepted_.empty()) return;
  const auto refused = all_refused(context);
  for (AcceptedCall& accepted : std::exchange(accepted_, {})) {
    Accepted answer{.revision = context.state.revision(),
                    .refused = {},
                    .consequences = std::move(accepted.consequences),
                    .relief = std::move(accepted.relief),
                    .moved = std::move(accepted.moved)};
    if (accepted.planned) answer.refused = refused;
    add_downtimes(context, answer.consequences);
    context.effects.replies.push_back({accepted.call, std::move(answer)});
  }
}

}  // namespace berth::control
