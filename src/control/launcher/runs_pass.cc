#include "control/launcher/consequences.h"
#include "control/launcher/handover.h"
#include "control/launcher/rebalancing.h"
#include "control/launcher/rollouts.h"
#include "control/launcher/status.h"
#include "control/passes.h"

namespace berth::control {
namespace {

// A node that is not connected does not block the call, nor does one in error.
const ObservedNode* find_awaited(const Context& context, const model::NodeId& id) {
  const ObservedNode* node = context.find_node(id);
  if (node == nullptr || !node->reachable()) return nullptr;
  return node->info.state == model::NodeState::Error ? nullptr : node;
}

bool has_gone_from(const Context& context, const model::NodeId& id, const model::InstanceKey& key) {
  return find_awaited(context, id) == nullptr || !may_run_on(context, id, key);
}

// Up and proven to be well, or failed. What is on a node that is away is not waited for; but a node
// of which we do not know yet whether it is away will soon be one or the other.
bool has_come_up(const Context& context, const model::InstanceRecord& record) {
  const model::InstanceStatus status = *status_of(context, record.key);
  if (status.away || status.proven || context.networks.troubled.contains(record.key)) return true;
  const ObservedNode* node = context.find_node(record.place->node);
  if (node->info.state == model::NodeState::Error) return true;
  const auto order = node->told.find(record.key);
  if (order == node->told.end() || node->acted < order->second.number) return false;
  if (record.leaving && record.leaving->hand_over) return false;  // it may still go back
  return status.state == model::InstanceState::Failed;
}

bool is_at_rest(const Context& context, const model::InstanceKey& key,
                const std::set<model::NodeId>& nodes_before) {
  const auto* record = context.state.find<model::InstanceRecord>(key);
  const bool placed = record != nullptr && record->place;
  for (const model::NodeId& id : nodes_before) {
    if (placed && record->place->node == id) continue;
    if (!has_gone_from(context, id, key)) return false;
  }
  return !placed || has_come_up(context, *record);
}

bool is_finished(const PendingRun& run) { return run.restless == 0 && run.rollouts.empty(); }

// Of a rollout that has not failed, and waits for nodes that are away.
Incomplete incomplete_of(const Context& context, const model::RolloutRecord& rollout) {
  Incomplete incomplete{.item = rollout.item,
                        .subject = rollout.subject,
                        .version = rollout.to,
                        .updated = 0,
                        .total = 0,
                        .away = {}};
  for (const auto* record : records_of(context.state.durable(), {rollout.item, rollout.subject})) {
    if (!record->place || record->preinstalled) continue;
    ++incomplete.total;
    if (record->version == rollout.to && rollout.proven.contains(record->key.index)) {
      ++incomplete.updated;
    } else if (find_awaited(context, record->place->node) == nullptr) {
      incomplete.away.insert(record->place->node);
    }
  }
  return incomplete;
}

// Of one that has failed before: what is told is that the edit of the old version has failed too.
model::RolloutRecord without_the_version(model::RolloutRecord rollout) {
  rollout.to = rollout.from;
  rollout.failed = std::exchange(rollout.halted, std::nullopt);
  rollout.edited = true;
  return rollout;
}

Finished finish(const Context& context, const PendingRun& run) {
  Finished finished{
      .timed_out = !run.superseded && !is_finished(run), .statuses = {}, .rolled_back = {}};
  if (run.superseded) finished.superseded_by = context.state.revision();
  for (const auto& [key, version] : run.asked_for) {
    const auto& rollouts = context.state.durable().rollouts;
    const auto rollout = rollouts.find(key);
    if (rollout == rollouts.end() || rollout->second.to != version) continue;
    if (rollout->second.halted) {
      finished.rolled_back.push_back(without_the_version(rollout->second));
    } else if (has_failed(rollout->second)) {
      finished.rolled_back.push_back(rollout->second);
    } else {
      Incomplete incomplete = incomplete_of(context, rollout->second);
      if (!incomplete.away.empty()) finished.incomplete.push_back(std::move(incomplete));
    }
  }
  for (const auto& [key, awaited] : run.awaited) {
    if (auto status = status_of(context, key)) finished.statuses.push_back(*std::move(status));
  }
  return finished;
}

std::map<model::InstanceKey, model::Problem> all_refused(const Context& context) {
  std::map<model::InstanceKey, model::Problem> refused;
  for (const auto& [key, observed] : context.instances) {
    if (observed.network_problem) refused.emplace(key, *observed.network_problem);
    if (observed.refusal) refused.insert_or_assign(key, *observed.refusal);
  }
  return refused;
}

void answer_accepted(Context& context) {
  if (context.accepted_calls.empty()) return;
  const auto refused = all_refused(context);
  for (AcceptedCall& accepted : std::exchange(context.accepted_calls, {})) {
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

void stop_waiting(Context& context, std::uint64_t run, const model::InstanceKey& key) {
  const auto waiting = context.runs_waiting_for.find(key);
  waiting->second.erase(run);
  if (waiting->second.empty()) context.runs_waiting_for.erase(waiting);
}

// Runs for which this instance was the last one come into `finished`.
void look_at(Context& context, const model::InstanceKey& key, std::set<std::uint64_t>& finished) {
  const auto waiting = context.runs_waiting_for.find(key);
  if (waiting == context.runs_waiting_for.end()) return;
  for (const std::uint64_t number : waiting->second) {
    PendingRun& run = context.runs.at(number);
    Awaited& awaited = run.awaited.at(key);
    const bool rested = awaited.at_rest;
    awaited.at_rest = is_at_rest(context, key, awaited.nodes_before);
    if (rested && !awaited.at_rest) ++run.restless;
    if (!rested && awaited.at_rest) --run.restless;
    is_finished(run) ? void(finished.insert(number)) : void(finished.erase(number));
  }
}

// When a rollout has come to rest, all of its instances must, too: they may be on their way back.
void wait_for_instances(Context& context, std::uint64_t number, PendingRun& run,
                        const RequestKey& key) {
  for (const model::InstanceRecord* record : records_of(context.state.durable(), key)) {
    if (!record->place) continue;
    if (run.awaited.try_emplace(record->key).second) ++run.restless;
    context.runs_waiting_for[record->key].insert(number);
    context.dirty.statuses.insert(record->key);
  }
}

void look_at_rollouts(Context& context, std::set<std::uint64_t>& finished) {
  std::vector<std::uint64_t> settled;
  for (const std::uint64_t number : context.runs_with_rollouts) {
    PendingRun& run = context.runs.at(number);
    std::erase_if(run.rollouts, [&](const RequestKey& key) {
      if (!is_at_rest(context, key)) return false;
      wait_for_instances(context, number, run, key);
      return true;
    });
    if (run.rollouts.empty()) settled.push_back(number);
  }
  for (const std::uint64_t number : settled) {
    context.runs_with_rollouts.erase(number);
    if (is_finished(context.runs.at(number))) finished.insert(number);  // nothing of it is placed
  }
}

// Since the last time; they are the last in the list.
void add_empty_runs(const Context& context, std::set<std::uint64_t>& finished) {
  for (auto it = context.runs.rbegin(); it != context.runs.rend(); ++it) {
    if (!is_finished(it->second)) return;
    finished.insert(it->first);
  }
}

void add_overdue_runs(const Context& context, std::set<std::uint64_t>& finished) {
  for (const auto& [number, run] : context.runs) {
    if (context.now < run.deadline) return;
    finished.insert(number);
  }
}

}  // namespace

void runs_pass(Context& context) {
  answer_accepted(context);
  std::set<std::uint64_t> finished;
  look_at_rollouts(context, finished);
  add_empty_runs(context, finished);
  for (const model::InstanceKey& key : context.dirty.statuses) look_at(context, key, finished);
  add_overdue_runs(context, finished);
  for (const auto& [number, run] : context.runs) {
    if (run.superseded) finished.insert(number);
  }
  for (const std::uint64_t number : finished) {
    const PendingRun& run = context.runs.at(number);
    if (run.call) context.effects.replies.push_back({*run.call, finish(context, run)});
    for (const auto& [key, awaited] : run.awaited) stop_waiting(context, number, key);
    if (context.rebalancing.run == number) rebalance_ended(context, run.awaited.size());
    context.runs_with_rollouts.erase(number);
    context.runs.erase(number);
  }
}

}  // namespace berth::control
