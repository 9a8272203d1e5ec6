#include "control/controller.h"

#include <algorithm>

#include "control/cluster/alarms.h"
#include "control/cluster/drain.h"
#include "control/cluster/readiness.h"
#include "control/hold/hold.h"
#include "control/id_pool.h"
#include "control/launcher/countdown.h"
#include "control/launcher/handover.h"
#include "control/launcher/rebalancing.h"
#include "control/launcher/status.h"
#include "control/network/holders.h"
#include "control/passes.h"
#include "control/record_events.h"

namespace berth::control {

Controller::Controller(Config config, Durable restored) : context_(config, std::move(restored)) {}

// Everything that was placed is activating until its node has spoken, and every known node has been
// heard of just now: the clocks start again.
void Controller::start(Time now) {
  context_.started_at = now;
  if (const auto why = held()) context_.note(NoteKind::Held, std::string(), *why);
  for (const auto& [id, record] : context_.state.durable().nodes) {
    ObservedNode& node = context_.nodes[id];
    node.last_heard = now;
    node.has_spoken = true;
    node.out_of_touch_since = now;
    node.info = record.info;
    node.readiness = restored_readiness(context_, record);
    context_.dirty.nodes.insert(id);
    context_.awaited.insert(id);
    context_.unheard.insert(id);
    begin_drain(context_, record);
  }
  restore_holdings(context_);
  begin_countdowns(context_);
  for (const auto& [key, record] : context_.state.durable().instances) {
    context_.dirty.statuses.insert(key);
    if (record.phase == model::Phase::Placed) {
      await_confirmation(context_, key, context_.config.confirm_timeout);
    }
  }
  for (const auto& [key, decision] : context_.state.durable().decisions) {
    if (context_.state.find<model::InstanceRecord>(key) != nullptr) continue;
    context_.instances[key].refusal = no_free_ids();
    context_.dirty.statuses.insert(key);
  }
}

// A document changed under the same version: whoever runs it must be told.
void Controller::mark_edited_items() {
  for (const model::ItemKey& item : context_.dirty.edited_items) {
    const auto& instances = context_.state.durable().instances;
    auto it = instances.lower_bound({item.item, model::SubjectId{}, 0});
    for (; it != instances.end() && it->first.item == item.item; ++it) context_.mark(it->second);
  }
}

void Controller::mark_everything() {
  context_.dirty.plan = true;
  for (const auto& [id, node] : context_.nodes) {
    context_.dirty.nodes.insert(id);
    context_.dirty.networks.insert(id);
    context_.dirty.loads.insert(id);
    context_.dirty.readiness.insert(id);
    mark_all_on(context_, id);
  }
  for (const auto& [key, record] : context_.state.durable().instances) context_.mark(record);
}

void Controller::take(const Event& event) {
  std::visit(
      [this](const auto& fact) {
        constexpr bool kIsCall = requires { fact.call; };
        constexpr bool kEndsHold = std::is_same_v<std::decay_t<decltype(fact)>, ReleaseCall>;
        if constexpr (kIsCall && !kEndsHold) {
          const model::CounterRecord& counters = durable().counters;
          if (counters.hold) {
            const Error refusal = refusal_while_held(*counters.hold, counters);
            context_.effects.replies.push_back({fact.call, refusal});
            return;
          }
        }
        record(context_, fact);
      },
      event);
}

void Controller::decide() {
  mark_edited_items();
  if (context_.config.walk == Walk::Everything || context_.dirty.everything) mark_everything();
  nodes_pass(context_);
  readiness_pass(context_);
  expiry_pass(context_);
  adoption_pass(context_);
  drain_pass(context_);
  thresholds_pass(context_);
  rebalance_pass(context_);
  moves_pass(context_);
  rollout_pass(context_);
  handover_pass(context_);
  network_pass(context_);
  countdown_pass(context_);
  commands_pass(context_);
  drained_pass(context_);
  alerts_pass(context_);
  status_pass(context_);
  runs_pass(context_);
  if (context_.state.durable().rollouts.empty()) context_.former_items.clear();
}

// What nodes say is recorded and shown. Nothing is placed, stopped, moved or forgotten.
void Controller::look_on() {
  nodes_pass(context_);
  readiness_pass(context_);
  control::look_on(context_);
  alerts_pass(context_);
  status_pass(context_);
}

Effects Controller::step(Time now, std::span<const Event> batch) {
  context_.now = now;
  context_.state.begin_step();
  context_.effects = Effects{};
  if (!context_.started_at) start(now);
  for (const Event& event : batch) take(event);
  is_held(context_) ? look_on() : decide();
  const bool plan_later = context_.dirty.plan;  // not settled yet, or held
  context_.dirty = Dirty{};
  context_.dirty.plan = plan_later;
  context_.effects.wake_at = next_wake();
  return std::move(context_.effects);
}

std::vector<Write> Controller::last_writes(Time now) {
  if (!context_.started_at) return {};
  context_.now = now;
  context_.state.begin_step();
  write_down_all(context_);
  return context_.state.seal();
}

std::optional<Time> Controller::next_wake() const {
  Time wake = kNever;
  if (!context_.node_alarms.empty()) wake = context_.node_alarms.begin()->first;
  if (is_held(context_)) {
    wake = std::min(wake, context_.readiness_alarms.next().value_or(kNever));
    wake = std::min(wake, context_.alert_alarms.next().value_or(kNever));
    return wake == kNever ? std::nullopt : std::optional(wake);
  }
  if (!context_.instance_alarms.empty()) {
    wake = std::min(wake, context_.instance_alarms.begin()->first);
  }
  if (!context_.load_alarms.empty()) wake = std::min(wake, context_.load_alarms.begin()->first);
  wake = std::min(wake, context_.readiness_alarms.next().value_or(kNever));
  wake = std::min(wake, context_.alert_alarms.next().value_or(kNever));
  wake = std::min(wake, next_rebalance(context_));
  wake = std::min(wake, context_.move_alarms.next().value_or(kNever));
  wake = std::min(wake, context_.avoided_alarms.next().value_or(kNever));
  for (const auto& [id, drain] : context_.drains) wake = std::min(wake, drain.deadline);
  for (const auto& [key, rollout] : context_.rollouts) wake = std::min(wake, rollout.wake);
  wake = std::min(wake, next_countdown(context_));
  if (!context_.settled) wake = std::min(wake, *context_.started_at + context_.config.settle_time);
  if (!context_.runs.empty()) wake = std::min(wake, context_.runs.begin()->second.deadline);
  return wake == kNever ? std::nullopt : std::optional(wake);
}

std::optional<std::string> Controller::held() const {
  const model::CounterRecord& counters = durable().counters;
  if (!counters.hold) return std::nullopt;
  return to_text(*counters.hold, counters);
}

std::vector<std::string> Controller::names_of(const model::InstanceKey& key) const {
  const auto member = context_.networks.members.find(key);
  return member == context_.networks.members.end() ? std::vector<std::string>{}
                                                   : member->second.names;
}

std::map<model::InstanceKey, model::InstanceStatus> Controller::statuses() const {
  std::map<model::InstanceKey, model::InstanceStatus> statuses;
  const auto add = [&](const auto& entry) {
    if (auto status = status_of(context_, entry.first)) statuses.emplace(entry.first, *status);
  };
  std::ranges::for_each(durable().instances, add);
  std::ranges::for_each(context_.instances, add);  // those that could not even get ids
  return statuses;
}

Duration Controller::time_left(const model::InstanceKey& key) const {
  const auto* record = context_.state.find<model::InstanceRecord>(key);
  return record == nullptr ? Duration{} : control::time_left(context_, *record);
}

}  // namespace berth::control
