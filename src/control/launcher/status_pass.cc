#include <fmt/format.h>

#include "control/launcher/handover.h"
#include "control/launcher/proofs.h"
#include "control/launcher/rollouts.h"
#include "control/launcher/status.h"
#include "control/passes.h"

namespace berth::control {
namespace {

using model::InstanceState;

model::InstanceStatus failed(model::InstanceStatus status, std::string reason,
                             std::string message) {
  status.state = InstanceState::Failed;
  status.problem = {std::move(reason), std::move(message)};
  return status;
}

// Its node has not said a word about it yet.
model::InstanceStatus unconfirmed(const Context& context, const model::InstanceRecord& record,
                                  const ObservedInstance* observed, model::InstanceStatus status) {
  const bool late = observed != nullptr && context.now >= observed->confirmed_by;
  if (!late) return status;
  return failed(std::move(status), "NotConfirmed",
                record.place->node.value() + " has not reported it in time");
}

model::InstanceStatus as_reported(model::InstanceStatus status,
                                  const model::ReportedStatus& reported) {
  status.state = reported.state;
  status.problem = reported.problem;
  status.exit_code = reported.exit_code;
  status.restarts = reported.restarts;
  return status;
}

bool is_unverified(const ObservedNode& node, const model::Place& place) {
  return node.liveness == Liveness::Unreachable ||
         (node.reachable() && !node.readiness.is_ready(place.runtime));
}

// Its node is not told of it before.
bool waits_for_room(const Context& context, const ObservedNode& node,
                    const model::InstanceRecord& record) {
  return node.held_back.contains(record.key) && !awaits_restart(context, record);
}

// Nothing starts at its place before the other copy has gone.
bool waits_for_stop(const model::InstanceRecord& record, const model::ReportedStatus* reported) {
  const bool begun = reported != nullptr && !reported->prepare_only;
  return record.leaving && record.leaving->stop_first && !record.leaving->empty && !begun;
}

model::InstanceStatus waiting_for_stop(const Context& context, const model::InstanceRecord& record,
                                       model::InstanceStatus status) {
  const model::NodeId& source = record.leaving->place.node;
  const std::string then = fmt::format("it starts on {} when {} has stopped it",
                                       record.place->node.value(), source.value());
  const ObservedNode* node = context.find_node(source);
  if (node != nullptr && node->info.state == model::NodeState::Error) {
    return failed(std::move(status), "NodeError", source.value() + " is in error; " + then);
  }
  status.problem = {"WaitingForStop", then};
  return status;
}

bool is_away(const ObservedNode* node) {
  return node == nullptr || node->liveness == Liveness::Unreachable ||
         node->liveness == Liveness::Lost;
}

model::InstanceStatus placed_status(const Context& context, const model::InstanceRecord& record,
                                    const ObservedInstance* observed,
                                    model::InstanceStatus status) {
  const ObservedNode* node = context.find_node(record.place->node);
  status.away = is_away(node);
  const auto& problems = context.network.problems();
  if (const auto problem = problems.find(record.key); problem != problems.end()) {
    return failed(std::move(status), problem->second.reason, problem->second.message);
  }
  if (node == nullptr || node->liveness == Liveness::Lost) {
    return failed(std::move(status), "NodeLost", record.place->node.value() + " is silent");
  }
  if (node->info.state == model::NodeState::Error) {
    return failed(std::move(status), "NodeError", record.place->node.value() + " is in error");
  }
  status.unverified = is_unverified(*node, *record.place);
  const auto* reported = run_at_its_place(context, record);
  if (reported == nullptr && waits_for_room(context, *node, record)) {
    status.problem = {"WaitingForRoom",
                      "it starts when others have left " + record.place->node.value()};
    return status;
  }
  if (waits_for_stop(record, reported)) {
    return waiting_for_stop(context, record, std::move(status));
  }
  if (reported == nullptr) return unconfirmed(context, record, observed, std::move(status));
  status = as_reported(std::move(status), *reported);
  // It runs, but not what was asked for.
  if (status.problem.reason.empty()) {
    status.problem = why_it_is_behind(context, record).value_or(model::Problem{});
  }
  const auto alert = context.alerts.problem_of(record.key);
  if (alert && status.problem.reason.empty()) status.problem = *alert;
  status.proven = status.state != InstanceState::Failed && observed != nullptr && observed->proof &&
                  observed->proof->done;
  return status;
}

// While it moves, the copy that serves is what counts.
model::InstanceStatus moving_status(const Context& context, const model::InstanceRecord& record,
                                    const model::ReportedStatus& reported) {
  const model::Place& source = record.leaving->place;
  model::InstanceStatus status{
      .key = record.key, .version = record.leaving->version, .place = source};
  const ObservedNode& node = *context.find_node(source.node);
  status.away = is_away(&node) || is_away(context.find_node(record.place->node));
  status.unverified = is_unverified(node, source);
  status = as_reported(std::move(status), reported);
  status.moving_to = record.place;
  return status;
}

std::string status_in_words(const model::InstanceStatus& status) {
  std::string words(model::to_string(status.state));
  if (!status.problem.reason.empty()) words += "(" + status.problem.reason + ")";
  if (status.place) words += " on " + model::to_string(*status.place);
  if (status.moving_to) words += ", moving to " + model::to_string(*status.moving_to);
  if (status.unverified) words += ", unverified";
  return words;
}

model::InstanceStatus gone(model::InstanceStatus last) {
  last.state = InstanceState::Inactive;
  last.problem = {};
  last.place.reset();
  last.unverified = false;
  last.moving_to.reset();
  last.proven = false;
  last.away = false;
  return last;
}

bool is_same_state(const model::InstanceStatus& a, const model::InstanceStatus& b) {
  return a.state == b.state && a.problem.reason == b.problem.reason && a.place == b.place &&
         a.version == b.version && a.restarts == b.restarts;
}

void publish(Context& context, const model::InstanceKey& key, ObservedInstance& observed) {
  look_at_proof(context, key, observed);
  auto status = status_of(context, key);
  if (status && !(observed.published && is_same_state(*status, *observed.published))) {
    status->since = observed.since = context.date_of(context.now);
  }
  if (status == observed.published) return;
  if (status) {
    const std::string words = status_in_words(*status);
    const bool same_words = observed.published && status_in_words(*observed.published) == words;
    if (!same_words) context.note(NoteKind::StatusChanged, key, words);
    context.effects.changes.push_back(*status);
  } else {
    context.effects.changes.push_back(gone(*observed.published));
  }
  observed.published = std::move(status);
}

// What has neither a record nor anything to say is forgotten.
void publish_and_forget(Context& context, const model::InstanceKey& key) {
  const auto observed = context.instances.try_emplace(key).first;
  publish(context, key, observed->second);
  const bool known = context.state.find<model::InstanceRecord>(key) != nullptr;
  if (!known && !observed->second.published) context.instances.erase(observed);
}

std::optional<model::InstanceStatus> state_of(const Context& context, const model::InstanceKey& key,
                                              const ObservedInstance* observed) {
  const auto* record = context.state.find<model::InstanceRecord>(key);
  const auto* refusal = observed != nullptr && observed->refusal ? &*observed->refusal : nullptr;
  if (record == nullptr || record->phase == model::Phase::Cached ||
      record->phase == model::Phase::Erasing) {
    if (refusal == nullptr) return std::nullopt;
    return failed({.key = key}, refusal->reason, refusal->message);
  }
  model::InstanceStatus status{.key = key, .version = record->version, .place = record->place};
  if (record->phase == model::Phase::Placed) {
    const auto* serving = copy_that_serves(context, *record);
    if (serving != nullptr) return moving_status(context, *record, *serving);
    return placed_status(context, *record, observed, std::move(status));
  }
  if (record->phase == model::Phase::Inactive) {
    status.state = InstanceState::Inactive;
    status.problem = {"SubjectAbsent", "subject " + key.subject.value() + " is not present"};
    return status;
  }
  if (refusal == nullptr) return status;
  return failed(std::move(status), refusal->reason, refusal->message);
}

}  // namespace

std::optional<model::InstanceStatus> status_of(const Context& context,
                                               const model::InstanceKey& key) {
  const auto known = context.instances.find(key);
  const auto* observed = known == context.instances.end() ? nullptr : &known->second;
  auto status = state_of(context, key, observed);
  if (status && observed != nullptr) status->since = observed->since;
  return status;
}

void status_pass(Context& context) {
  while (!context.instance_alarms.empty() &&
         context.instance_alarms.begin()->first <= context.now) {
    context.dirty.statuses.insert(context.instance_alarms.begin()->second);
    context.instance_alarms.erase(context.instance_alarms.begin());
  }
  for (const model::InstanceKey& key : context.dirty.statuses) publish_and_forget(context, key);
}

}  // namespace berth::control
