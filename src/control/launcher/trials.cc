#include "control/launcher/trials.h"

#include <fmt/format.h>

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

// A passed check is enough; without one, a crash right after the start must not go unnoticed.
Judgement watch(const Context& context, const model::InstanceRecord& record, Trial& trial) {
  if (!trial.active_since) trial.active_since = context.now;
  const auto& items = context.state.durable().items;
  const bool checked = items.at({record.key.item, record.version}).health.has_value();
  const bool long_enough = context.now - *trial.active_since >= context.config.rollout_watch;
  return {checked || long_enough ? Progress::Proven : Progress::Watched};
}

}  // namespace

Trial begin_trial(const Context& context, const model::InstanceRecord& record,
                  const model::ReportedStatus* status) {
  return {.deadline = context.now + timeout_of(context, record),
          .restarts = status == nullptr ? 0 : status->restarts,
          .active_since = {}};
}

Judgement judge(const Context& context, const model::InstanceRecord& record,
                const model::ReportedStatus* status, Trial& trial) {
  // The time does not count that its image takes to get there.
  const bool is_fetched = status != nullptr && status->problem.reason == "Pulling";
  if (is_fetched) {
    trial.deadline = kNever;
  } else if (trial.deadline == kNever) {
    trial.deadline = context.now + timeout_of(context, record);
  }
  // A runtime that is not ready says nothing about what it should run.
  if (status == nullptr || status->problem.reason == "RuntimeNotReady") {
    return wait(context, record, trial);
  }
  if (status->state == InstanceState::Failed) return {Progress::Failed, status->problem};
  if (status->restarts > trial.restarts) return {Progress::Failed, restarted(*status)};
  const bool is_done = status->state == InstanceState::Inactive && status->finished;
  // It is not paused before it is proven, by an earlier life of the controller perhaps.
  if (is_done || status->state == InstanceState::Paused) return {Progress::Proven};
  return status->state == InstanceState::Active ? watch(context, record, trial)
                                                : wait(context, record, trial);
}

Time next_look(const Context& context, const Trial& trial) {
  return trial.active_since ? *trial.active_since + context.config.rollout_watch : trial.deadline;
}

}  // namespace berth::control
