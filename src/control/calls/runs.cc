#include "control/calls/runs.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "control/context.h"
#include "control/rollout/handover.h"
#include "control/rollout/rollouts.h"

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
  const model::InstanceStatus* published = context.statuses.published(record.key);
  CHECK(published != nullptr, "what is placed has a status, and statuses come before calls");
  const model::InstanceStatus& status = *published;
  if (status.away || status.proven || context.network.has_problem(record.key)) return true;
  const ObservedNode* node = context.find_node(record.place->node);
  if (node->info.state == model::NodeState::Error) return true;
  const auto order = node->orders->run.find(record.key);
  if (order == node->orders->run.end() || node->acted < order->second.number) return false;
  if (record.leaving && record.leaving->hand_over) return false;  // it may still go back
  return status.state == model::InstanceState::Failed;
}

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

}  // namespace

bool Runs::is_done(const Context& context, const model::InstanceKey& key,
                   const std::set<model::NodeId>& nodes_before) {
  const auto* record = context.state.find<model::InstanceRecord>(key);
  const bool placed = record != nullptr && record->place;
  for (const model::NodeId& id : nodes_before) {
    if (placed && record->place->node == id) continue;
    if (!has_gone_from(context, id, key)) return false;
  }
  return !placed || has_come_up(context, *record);
}

std::vector<model::InstanceStatus> Runs::statuses_of(const Context& context, const Run& run) {
  std::vector<const model::InstanceStatus*> told;
  for (const auto& [request, count] : run.requests) {
    for (const auto* status : context.statuses.published_of(request)) {
      if (status->key.index < count) told.push_back(status);
    }
  }
  const auto others = static_cast<std::ptrdiff_t>(told.size());
  for (const auto& [key, awaited] : run.awaited) {
    const auto* status = context.statuses.published(key);
    if (status != nullptr) told.push_back(status);
  }
  const auto key_of = [](const auto* status) -> const auto& { return status->key; };
  std::ranges::inplace_merge(told, told.begin() + others, {}, key_of);
  const auto repeated = std::ranges::unique(told);
  told.erase(repeated.begin(), repeated.end());
  std::vector<model::InstanceStatus> statuses;
  statuses.reserve(told.size());
  for (const auto* status : told) statuses.push_back(*status);
  return statuses;
}

Finished Runs::finish(const Context& context, const Run& run) const {
  Finished finished{
      .timed_out = !run.superseded && !is_done(run), .statuses = {}, .rolled_back = {}};
  if (run.superseded) finished.superseded_by = context.state.revision();
  for (const auto& [key, version] : run.wanted.asked_for) {
    const auto* rollout = context.state.find<model::RolloutRecord>(key);
    if (rollout == nullptr || rollout->to != version) continue;
    if (rollout->halted) {
      finished.rolled_back.push_back(without_the_version(*rollout));
    } else if (has_failed(*rollout)) {
      finished.rolled_back.push_back(*rollout);
    } else {
      Incomplete incomplete = incomplete_of(context, *rollout);
      if (!incomplete.away.empty()) finished.incomplete.push_back(std::move(incomplete));
    }
  }
  finished.statuses = statuses_of(context, run);
  return finished;
}

// Who still waits for another version waits for nothing.
void Runs::supersede_others(const RunFor& newcomer) {
  for (const auto& [key, version] : newcomer.asked_for) {
    for (auto& [number, run] : runs_) {
      const auto asked = run.wanted.asked_for.find(key);
      if (asked != run.wanted.asked_for.end() && asked->second != version) run.superseded = true;
    }
  }
}

bool Runs::is_done(const Run& run) const {
  if (run.open > 0 || !run.rollouts.empty()) return false;
  return std::ranges::all_of(run.requests, [this](const auto& asked) {
    const auto open = open_.find(asked.first);
    return open == open_.end() || *open->second.begin() >= asked.second;
  });
}

// Those of them that were not done when they were looked at last are looked at now.
void Runs::await_requests(Context& context, RunNumber number, Run& run) {
  for (const auto& [key, version] : run.wanted.asked_for) {
    const auto* asked = context.state.requests().find(key);
    run.requests[key] = asked->run->instances.value_or(std::numeric_limits<std::uint32_t>::max());
    waiting_for_requests_[key].insert(number);
    if (context.state.durable().rollouts.contains(key)) run.rollouts.insert(key);
    const auto open = open_.find(key);
    if (open == open_.end()) continue;
    for (const std::uint32_t index : open->second) {
      context.changes.instances.insert({key.first, key.second, index});
    }
  }
  if (!run.rollouts.empty()) with_rollouts_.insert(number);
}

void Runs::await_instances(Context& context, RunNumber number, Run& run, const Changed& changed) {
  for (const auto& [key, nodes] : changed) {
    const auto asked = run.requests.find({key.item, key.subject});
    const bool is_one_of_them = asked != run.requests.end() && key.index < asked->second;
    if (is_one_of_them && nodes.empty()) continue;
    run.awaited.emplace_hint(run.awaited.end(), key)->second.nodes_before = nodes;
    waiting_for_[key].insert(number);
    context.changes.instances.insert(key);
  }
  run.open = run.awaited.size();
}

RunNumber Runs::begin(Context& context, RunFor wanted, const Changed& changed) {
  const RunNumber number = next_run_++;
  supersede_others(wanted);
  Run& run = runs_[number];
  run.wanted = std::move(wanted);
  run.deadline = context.now + context.config.run_timeout;
  await_requests(context, number, run);
  await_instances(context, number, run, changed);
  return number;
}

// Runs of which nothing is open any more come into `finished`.
void Runs::look_again(RunNumber number, Numbers& finished) const {
  is_done(runs_.at(number)) ? void(finished.insert(number)) : void(finished.erase(number));
}

void Runs::note_progress(const Context& context, const model::InstanceKey& key, Numbers& finished) {
  const RequestKey request{key.item, key.subject};
  const auto known = open_.find(request);
  const bool was_open = known != open_.end() && known->second.contains(key.index);
  const bool is_open = !is_done(context, key, {});
  if (was_open == is_open) return;
  if (is_open) {
    open_[request].insert(key.index);
  } else {
    known->second.erase(key.index);
    if (known->second.empty()) open_.erase(known);
  }
  const auto waiting = waiting_for_requests_.find(request);
  if (waiting == waiting_for_requests_.end()) return;
  for (const RunNumber number : waiting->second) look_again(number, finished);
}

void Runs::look_at(const Context& context, const model::InstanceKey& key, Numbers& finished) {
  note_progress(context, key, finished);
  const auto waiting = waiting_for_.find(key);
  if (waiting == waiting_for_.end()) return;
  for (const RunNumber number : waiting->second) {
    Run& run = runs_.at(number);
    Awaited& awaited = run.awaited.at(key);
    const bool was_done = awaited.done;
    awaited.done = is_done(context, key, awaited.nodes_before);
    if (was_done && !awaited.done) ++run.open;
    if (!was_done && awaited.done) --run.open;
    look_again(number, finished);
  }
}

void Runs::look_at_rollouts(Context& context, Numbers& finished) {
  std::vector<RunNumber> without;
  for (const RunNumber number : with_rollouts_) {
    Run& run = runs_.at(number);
    std::erase_if(run.rollouts, [&](const RequestKey& key) {
      if (!context.rollouts.is_idle(context, key)) return false;
      // All of its instances must be done, too: they may be on their way back.
      for (const auto* record : records_of(context.state.durable(), key)) {
        context.changes.instances.insert(record->key);
      }
      return true;
    });
    if (run.rollouts.empty()) without.push_back(number);
  }
  for (const RunNumber number : without) {
    with_rollouts_.erase(number);
    if (is_done(runs_.at(number))) finished.insert(number);  // nothing of it is placed
  }
}

// Since the last time; they are the last in the list.
void Runs::add_empty(Numbers& finished) const {
  for (auto it = runs_.rbegin(); it != runs_.rend(); ++it) {
    if (!is_done(it->second)) return;
    finished.insert(it->first);
  }
}

void Runs::add_overdue(Time now, Numbers& finished) const {
  for (const auto& [number, run] : runs_) {
    if (now < run.deadline) return;
    finished.insert(number);
  }
}

void Runs::end(Context& context, RunNumber number) {
  const Run& run = runs_.at(number);
  if (run.wanted.call) {
    context.effects.replies.push_back({*run.wanted.call, finish(context, run)});
  }
  for (const auto& [key, awaited] : run.awaited) {
    const auto waiting = waiting_for_.find(key);
    waiting->second.erase(number);
    if (waiting->second.empty()) waiting_for_.erase(waiting);
  }
  for (const auto& [key, count] : run.requests) {
    const auto waiting = waiting_for_requests_.find(key);
    waiting->second.erase(number);
    if (waiting->second.empty()) waiting_for_requests_.erase(waiting);
  }
  if (context.rebalances.is_run(number)) context.rebalances.ended(context, run.awaited.size());
  with_rollouts_.erase(number);
  runs_.erase(number);
}

void Runs::decide(Context& context) {
  Numbers finished;
  look_at_rollouts(context, finished);
  add_empty(finished);
  for (const model::InstanceKey& key : context.changes.instances) look_at(context, key, finished);
  add_overdue(context.now, finished);
  for (const auto& [number, run] : runs_) {
    if (run.superseded) finished.insert(number);
  }
  for (const RunNumber number : finished) end(context, number);
}

Time Runs::next() const { return runs_.empty() ? kNever : runs_.begin()->second.deadline; }

}  // namespace berth::control
