#include "agent/preparation.h"

#include "base/alarms.h"

namespace berth::agent {

void Preparation::begin(const model::CommandNumber& generation) {
  if (generation == generation_) return;
  *this = {};
  generation_ = generation;
}

bool Preparation::may_be_asked(Time now) const {
  return !is_done_ && !overdue_ && (!again_at_ || *again_at_ <= now);
}

void Preparation::ask(const Context& context, const model::InstanceSpec& spec) {
  again_at_.reset();
  problem_.reset();
  refusal_.reset();
  overdue_ = context.now + context.config.prepare_timeout;
  context.act(Prepare{spec, generation_, ++orders_});
}

void Preparation::cancel() {
  overdue_.reset();
  again_at_.reset();
  problem_.reset();
  refusal_.reset();
}

bool Preparation::prepared(const Prepared& answer) {
  if (answer.generation != generation_) return false;
  cancel();
  is_done_ = true;
  return true;
}

bool Preparation::failed(const Context& context, const model::RestartPolicy& policy,
                         const PrepareFailed& answer) {
  if (!overdue_ || answer.generation != generation_ || answer.order != orders_) return false;
  back_off(context, policy, answer.problem);
  return true;
}

bool Preparation::give_up(const Context& context, const model::RestartPolicy& policy) {
  if (!overdue_ || context.now < *overdue_) return false;
  back_off(context, policy, {"", "nobody has said how it went"});
  return true;
}

void Preparation::back_off(const Context& context, const model::RestartPolicy& policy,
                           const model::Problem& problem) {
  overdue_.reset();
  const Duration wait = backoff_.next_wait(policy, std::nullopt, context.now);
  again_at_ = context.now + wait;
  problem_ = {problem.reason.empty() ? "ImagePullFailed" : problem.reason,
              "the image was not fetched: " + problem.message + "; next try in " + to_text(wait)};
}

const std::optional<model::Problem>& Preparation::problem() const {
  return refusal_ ? refusal_ : problem_;
}

std::optional<Time> Preparation::due(Time now) const {
  std::optional<Time> earliest = overdue_;
  // Past its time it waits for a runtime, which wakes it.
  if (again_at_ && *again_at_ > now) take_earlier(earliest, again_at_);
  return earliest;
}

}  // namespace berth::agent
