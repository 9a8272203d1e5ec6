#include "control/rollout/trials.h"

#include <fmt/format.h>

#include <algorithm>

#include "control/context.h"
#include "control/rollout/handover.h"
#include "control/rollout/proofs.h"

namespace berth::control {
namespace {

using model::InstanceState;

model::Problem restarted(const model::ReportedStatus& status) {
  return {"Restarted", status.exit_code ? fmt::format("it ended with code {}", *status.exit_code)
                                        : std::string("it had to be started again")};
}

Duration timeout_of(const Context& context, const model::InstanceRecord& record) {
  return record.type == model::ItemType::Component ? context.config.component_rollout_timeout
                                                   : context.config.rollout_timeout;
}

Judgement wait(const Context& context, const model::InstanceRecord& record, Trial& trial) {
  trial.active_since.reset();
  if (context.now < trial.deadline) return {Progress::Coming};
  const auto timeout =
      std::chrono::duration_cast<std::chrono::seconds>(timeout_of(context, record));
  return {Progress::Failed,
          {"NotActiveInTime", fmt::format("it is not active after {} s", timeout.count())}};
}

// A passed check is enough; without one, a crash right after the start must not go unnoticed: the
// node must have said something when the time was over.
Judgement watch(Context& context, const model::InstanceRecord& record, Trial& trial) {
  if (!trial.active_since) trial.active_since = context.now;
  const auto& items = context.state.durable().items;
  const bool checked = items.at({record.key.item, record.version}).health.has_value();
  const bool is_proven =
      checked || context.statuses.has_been_active_since(context, record, *trial.active_since);
  return {is_proven ? Progress::Proven : Progress::Watched};
}

// What is not told yet cannot be late, nor does the time count that its image takes to get there.
void set_deadline(const Context& context, const model::InstanceRecord& record,
                  const model::ReportedStatus* status, Trial& trial) {
  const bool is_fetched =
      status != nullptr && status->problem.hindrance == model::Hindrance::BeingFetched;
  if (is_fetched || !is_told(context, record)) {
    trial.deadline = kNever;
  } else if (trial.deadline == kNever) {
    trial.deadline = context.now + timeout_of(context, record);
  }
}

}  // namespace

Trial begin_trial(const Context& context, const model::InstanceRecord& record,
                  const model::ReportedStatus* status) {
  return {.deadline = context.now + timeout_of(context, record),
          .restarts = status == nullptr ? 0 : status->restarts,
          .active_since = {}};
}

Judgement judge(Context& context, const model::InstanceRecord& record,
                const model::ReportedStatus* status, Trial& trial) {
  set_deadline(context, record, status, trial);
  // What cannot be heard of begins anew when it can: its node may have died right after the start,
  // and what was started again meanwhile has long been running when the controller comes back.
  const ObservedNode* node = context.find_node(record.place->node);
  if (node == nullptr || !node->reachable()) {
    trial.restarts.reset();
    return wait(context, record, trial);
  }
  // A runtime that is not ready says nothing about what it should run.
  if (status == nullptr || status->problem.hindrance == model::Hindrance::RuntimeNotReady) {
    return wait(context, record, trial);
  }
  if (status->state == InstanceState::Failed) return {Progress::Failed, status->problem};
  if (trial.restarts && status->restarts > *trial.restarts)
    return {Progress::Failed, restarted(*status)};
  trial.restarts = status->restarts;  // less: it counts anew when it is started anew
  const bool is_done = status->state == InstanceState::Inactive && status->finished;
  // It is not paused before it is proven, by an earlier life of the controller perhaps.
  if (is_done || status->state == InstanceState::Paused) return {Progress::Proven};
  return status->state == InstanceState::Active ? watch(context, record, trial)
                                                : wait(context, record, trial);
}

// One that is active is proven by a word of its node, not by the clock.
Time next_look(const Trial& trial) { return trial.active_since ? kNever : trial.deadline; }

void set_deadline(Context& context, const model::InstanceRecord& record) {
  const Time deadline =
      is_told(context, record) ? context.now + timeout_of(context, record) : kNever;
  context.rollouts.set_deadline(record, deadline);
  context.moves.set_deadline(record, deadline);
}

}  // namespace berth::control
