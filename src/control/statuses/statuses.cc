#include "control/statuses/statuses.h"

#include <fmt/format.h>

#include <algorithm>

#include "control/context.h"
#include "control/id_pool.h"
#include "control/rollout/handover.h"

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
model::InstanceStatus unconfirmed(const model::InstanceRecord& record, bool is_late,
                                  model::InstanceStatus status) {
  if (!is_late) return status;
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
  return node.orders->postponed.contains(record.key) &&
         !context.rollouts.awaits_restart(context, record);
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

// Whether they are the same in words.
bool reads_the_same(const model::InstanceStatus& a, const model::InstanceStatus& b) {
  return a.state == b.state && a.problem.reason == b.problem.reason && a.place == b.place &&
         a.moving_to == b.moving_to && a.unverified == b.unverified;
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

}  // namespace

model::InstanceStatus Statuses::placed_status(const Context& context,
                                              const model::InstanceRecord& record,
                                              const Known* known, model::InstanceStatus status) {
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
  if (reported == nullptr) {
    const bool is_late = known != nullptr && context.now >= known->confirmed_by;
    return unconfirmed(record, is_late, std::move(status));
  }
  status = as_reported(std::move(status), *reported);
  // It runs, but not what was asked for.
  if (status.problem.reason.empty()) {
    const auto behind = why_it_is_behind(context, record);
    if (behind) status.problem = behind->problem;
  }
  const auto alert = context.alerts.problem_of(record.key);
  if (alert && status.problem.reason.empty()) status.problem = *alert;
  status.proven = status.state != InstanceState::Failed && known != nullptr && known->proof &&
                  known->proof->done;
  return status;
}

std::optional<model::InstanceStatus> Statuses::state_of(const Context& context,
                                                        const model::InstanceKey& key,
                                                        const model::InstanceRecord* record,
                                                        const Known* known) {
  const auto* refusal = known != nullptr && known->refusal ? &*known->refusal : nullptr;
  if (record == nullptr || record->phase == model::Phase::Cached ||
      record->phase == model::Phase::Erasing) {
    if (refusal == nullptr) return std::nullopt;
    return failed({.key = key}, refusal->reason, refusal->message);
  }
  model::InstanceStatus status{.key = key, .version = record->version, .place = record->place};
  if (record->phase == model::Phase::Placed) {
    const auto* serving = copy_that_serves(context, *record);
    if (serving != nullptr) return moving_status(context, *record, *serving);
    return placed_status(context, *record, known, std::move(status));
  }
  if (record->phase == model::Phase::Inactive) {
    status.state = InstanceState::Inactive;
    status.problem = {"SubjectAbsent", "subject " + key.subject.value() + " is not present"};
    return status;
  }
  if (refusal == nullptr) return status;
  return failed(std::move(status), refusal->reason, refusal->message);
}

void Statuses::publish(Context& context, const model::InstanceKey& key,
                       const model::InstanceRecord* record, Known& known) {
  look_at_proof(context, record, known.proof);
  auto status = state_of(context, key, record, &known);
  if (status) status->since = known.since;
  if (status && !(known.published && is_same_state(*status, *known.published))) {
    status->since = known.since = context.date_of(context.now);
  }
  if (status == known.published) return;
  if (status) {
    const bool same_words = known.published && reads_the_same(*status, *known.published);
    if (!same_words && !is_new_)
      context.note(NoteKind::StatusChanged, key, status_in_words(*status));
    context.effects.changes.push_back(*status);
  } else {
    context.effects.changes.push_back(gone(*known.published));
  }
  known.published = std::move(status);
}

// What has neither a record nor anything to say is forgotten.
void Statuses::publish_and_forget(Context& context, const model::InstanceKey& key) {
  const auto known = instances_.try_emplace(key).first;
  const auto* record = context.state.find<model::InstanceRecord>(key);
  publish(context, key, record, known->second);
  if (record != nullptr || known->second.published) return;
  refused_.erase(key);
  instances_.erase(known);
}

void Statuses::decide(Context& context) {
  while (!alarms_.empty() && alarms_.begin()->first <= context.now) {
    context.changes.instances.insert(alarms_.begin()->second);
    alarms_.erase(alarms_.begin());
  }
  for (const model::InstanceKey& key : context.changes.instances) publish_and_forget(context, key);
  is_new_ = false;
}

// --- What others tell --------------------------------------------------------------------------

void Statuses::restore(Context& context) {
  is_new_ = true;
  for (const auto& [key, decision] : context.state.durable().decisions) {
    const auto* record = context.state.find<model::InstanceRecord>(key);
    if (record == nullptr) {
      refuse(context, key, no_free_ids());
    } else if (record->phase == model::Phase::Waiting && decision.reason) {
      refuse(context, key, {std::string(to_string(*decision.reason)), decision.hint});
    }
  }
}

bool Statuses::refuse(Context& context, const model::InstanceKey& key, model::Problem problem) {
  Known& known = instances_[key];
  if (known.refusal == problem) return false;
  const bool is_other = !known.refusal || known.refusal->reason != problem.reason;
  known.refusal = std::move(problem);
  refused_.insert(key);
  context.changes.instances.insert(key);
  return is_other;
}

void Statuses::forget_refusal(const model::InstanceKey& key) {
  instances_[key].refusal.reset();
  refused_.erase(key);
}

void Statuses::await_confirmation(const Context& context, const model::InstanceKey& key,
                                  Duration within) {
  instances_[key].confirmed_by = context.now + within;
  alarms_.emplace(context.now + within, key);
}

bool Statuses::has_been_active_since(Context& context, const model::InstanceRecord& record,
                                     Time since) {
  Vouched& vouched = vouched_[record.place->node];
  const Time enough = since + min_healthy_of(context, record);
  if (vouched.at >= enough) return true;
  vouched.proving.set_earlier(record.key, enough);
  return false;
}

void Statuses::vouch(Context& context, const model::NodeId& node) {
  Vouched& vouched = vouched_[node];
  vouched.at = context.now;
  for (const model::InstanceKey& key : vouched.proving.take_due(context.now)) {
    context.changes.instances.insert(key);
  }
}

// --- Questions ---------------------------------------------------------------------------------

const Statuses::Known* Statuses::find(const model::InstanceKey& key) const {
  const auto known = instances_.find(key);
  return known == instances_.end() ? nullptr : &known->second;
}

const model::Problem* Statuses::refusal_of(const model::InstanceKey& key) const {
  const Known* known = find(key);
  return known != nullptr && known->refusal ? &*known->refusal : nullptr;
}

std::vector<model::InstanceKey> Statuses::refused_of(
    const std::pair<model::ItemId, model::SubjectId>& request) const {
  std::vector<model::InstanceKey> keys;
  auto it = refused_.lower_bound({request.first, request.second, 0});
  for (; it != refused_.end(); ++it) {
    if (it->item != request.first || it->subject != request.second) break;
    keys.push_back(*it);
  }
  return keys;
}

bool Statuses::is_new_there(const model::InstanceKey& key) const {
  const Known* known = find(key);
  return known != nullptr && known->is_new_there;
}

std::optional<model::InstanceStatus> Statuses::status_of(const Context& context,
                                                         const model::InstanceKey& key) const {
  const Known* known = find(key);
  auto status = state_of(context, key, context.state.find<model::InstanceRecord>(key), known);
  if (status && known != nullptr) status->since = known->since;
  return status;
}

std::map<model::InstanceKey, model::InstanceStatus> Statuses::all(const Context& context) const {
  std::map<model::InstanceKey, model::InstanceStatus> statuses;
  const auto add = [&](const auto& entry) {
    if (auto status = status_of(context, entry.first)) statuses.emplace(entry.first, *status);
  };
  std::ranges::for_each(context.state.durable().instances, add);
  std::ranges::for_each(instances_, add);  // those that could not even get ids
  return statuses;
}

std::vector<model::InstanceStatus> Statuses::all_of(
    const Context& context, const std::pair<model::ItemId, model::SubjectId>& request) const {
  std::set<std::uint32_t> indices;
  const auto collect = [&](const auto& map) {
    auto it = map.lower_bound({request.first, request.second, 0});
    for (; it != map.end(); ++it) {
      if (it->first.item != request.first || it->first.subject != request.second) return;
      indices.insert(indices.end(), it->first.index);
    }
  };
  collect(context.state.durable().instances);
  collect(instances_);  // those that could not even get ids
  std::vector<model::InstanceStatus> statuses;
  for (const std::uint32_t index : indices) {
    auto status = status_of(context, {request.first, request.second, index});
    if (status) statuses.push_back(*std::move(status));
  }
  return statuses;
}

const model::InstanceStatus* Statuses::published(const model::InstanceKey& key) const {
  const Known* known = find(key);
  return known != nullptr && known->published ? &*known->published : nullptr;
}

std::vector<const model::InstanceStatus*> Statuses::published_of(
    const std::pair<model::ItemId, model::SubjectId>& request) const {
  std::vector<const model::InstanceStatus*> statuses;
  auto it = instances_.lower_bound({request.first, request.second, 0});
  for (; it != instances_.end(); ++it) {
    if (it->first.item != request.first || it->first.subject != request.second) break;
    if (it->second.published) statuses.push_back(&*it->second.published);
  }
  return statuses;
}

}  // namespace berth::control
