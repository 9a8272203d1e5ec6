#include "control/calls/calls.h"

#include <algorithm>
#include <utility>

#include "control/calls/consequences.h"
#include "control/context.h"

namespace berth::control {
namespace {

using Problems = std::map<model::InstanceKey, model::Problem>;

Problems refused_of(const Context& context, const AcceptedCall& call) {
  Problems refused;
  const auto add = [&](const model::InstanceKey& key) {
    const auto* problem = context.statuses.refusal_of(key);
    if (problem != nullptr) refused.insert_or_assign(key, *problem);
  };
  for (const auto& [key, problem] : context.network.problems()) {
    const bool is_asked_for = call.requests.contains({key.item, key.subject});
    if (is_asked_for || std::ranges::binary_search(call.changed, key))
      refused.emplace(key, problem);
  }
  for (const RequestKey& request : call.requests) {
    for (const model::InstanceKey& key : context.statuses.refused_of(request)) add(key);
  }
  std::ranges::for_each(call.changed, add);
  return refused;
}

std::size_t count_refused(const Context& context) {
  const Problems& problems = context.network.problems();
  const auto is_refused = [&](const auto& entry) {
    return context.statuses.refusal_of(entry.first) != nullptr;
  };
  const auto both = static_cast<std::size_t>(std::ranges::count_if(problems, is_refused));
  return context.statuses.refused().size() + problems.size() - both;
}

}  // namespace

std::vector<CallId> Calls::take_planned() {
  asked_ = {};
  return std::exchange(unplanned_, {});
}

void Calls::decide(Context& context) {
  for (AcceptedCall& accepted : std::exchange(accepted_, {})) {
    Accepted answer{.revision = context.state.revision(),
                    .refused = {},
                    .refused_others = 0,
                    .consequences = std::move(accepted.consequences),
                    .relief = std::move(accepted.relief),
                    .moved = std::move(accepted.moved)};
    if (accepted.planned) {
      answer.refused = refused_of(context, accepted);
      answer.refused_others = count_refused(context) - answer.refused.size();
    }
    add_downtimes(context, answer.consequences);
    context.effects.replies.push_back({accepted.call, std::move(answer)});
  }
}

}  // namespace berth::control
