#include "control/controller.h"

#include <algorithm>

#include "control/hold/hold.h"
#include "control/launcher/adoption.h"
#include "control/launcher/snapshot.h"
#include "control/record_events.h"
#include "control/rollout/handover.h"

namespace berth::control {
namespace {

// What a plan refuses or displaces can change what a pool asks for. It settles at once in practice;
// the bound keeps a surprise from stopping the daemon.
constexpr int kLooksAtPools = 8;

}  // namespace

Controller::Controller(Config config, Durable restored) : context_(config, std::move(restored)) {}

// Everything that was placed is activating until its node has spoken, and every known node has been
// heard of just now: the clocks start again.
void Controller::start() {
  if (const auto why = held()) context_.note(NoteKind::Held, std::string(), *why);
  context_.lives.begin(context_.config.life, context_.state.durable().counters);
  context_.reachability.restore(context_, context_.nodes);
  for (const auto& [id, record] : context_.state.durable().nodes) {
    context_.readiness.restore(context_, record, context_.nodes.at(id));
    context_.drains.begin(context_, record);
  }
  context_.network.restore(context_);
  context_.lifetime.restore(context_);
  context_.sessions.restore(context_);
  context_.statuses.restore(context_);
  for (const auto& [key, record] : context_.state.durable().instances) {
    context_.changes.instances.insert(context_.changes.instances.end(), key);
    if (record.phase == model::Phase::Placed) {
      context_.statuses.await_confirmation(context_, key, context_.config.confirm_timeout);
    }
  }
}

// A document changed under the same version: whoever runs it must be told.
void Controller::mark_edited_items() {
  for (const model::ItemKey& item : context_.changes.edited_items) {
    const auto& instances = context_.state.durable().instances;
    auto it = instances.lower_bound({item.item, model::SubjectId{}, 0});
    for (; it != instances.end() && it->first.item == item.item; ++it) context_.mark(it->second);
  }
}

void Controller::mark_everything() {
  context_.launcher.plan_everything();
  for (const auto& [id, node] : context_.nodes) {
    context_.reachability.look_at(id);
    context_.network.look_at(id);
    context_.loads.look_at(id);
    context_.readiness.look_at(id);
    context_.mark_all_on(id);
  }
  for (const auto& [key, record] : context_.state.durable().instances) context_.mark(record);
}

void Controller::take(const Event& event) {
  std::visit(
      [this](const auto& fact) {
        constexpr bool kIsCall = requires { fact.call; };
        constexpr bool kIsOfSession =
            std::is_same_v<std::decay_t<decltype(fact)>, OpenSessionCall> ||
            std::is_same_v<std::decay_t<decltype(fact)>, CloseSessionCall> ||
            std::is_same_v<std::decay_t<decltype(fact)>, SessionCallerGone>;
        constexpr bool kEndsHold = std::is_same_v<std::decay_t<decltype(fact)>, ReleaseCall>;
        if constexpr (kIsCall && !kEndsHold) {
          const model::CounterRecord& counters = durable().counters;
          if (counters.hold) {
            const Error refusal = refusal_while_held(*counters.hold);
            if constexpr (kIsOfSession) {
              context_.effects.session_replies.push_back({fact.call, refusal});
              return;
            }
            Calls::refuse(context_, fact.call, refusal);
            return;
          }
        }
        record(context_, fact);
      },
      event);
}

void Controller::write_down_times() {
  if (context_.state.has_changes()) {
    context_.drains.write_down(context_, context_.config.write_down_drains);
  }
  context_.lifetime.write_down_due(context_);
}

// Whose turn it is to be updated, then the plan that does so, until both are done.
void Controller::plan() {
  int looks = 0;
  do {
    context_.sessions.decide(context_);
    if (!context_.reachability.settled()) return;
    context_.rollouts.take_turns(context_);
    context_.launcher.decide(context_);
    const bool pools_look = context_.sessions.must_look_again() && ++looks < kLooksAtPools;
    if (!context_.rollouts.must_look_again() && !pools_look) return;
  } while (true);
}

// The order of a step. What comes later sees what was decided before it; each may be repeated
// without harm.
void Controller::decide() {
  mark_edited_items();
  if (context_.config.walk == Walk::Everything || context_.changes.everything) mark_everything();
  context_.reachability.decide(context_);
  context_.readiness.decide(context_);
  context_.lifetime.decide(context_);
  adopt_components(context_);
  context_.drains.decide(context_);
  context_.loads.decide(context_, context_.nodes);
  context_.rebalances.decide(context_);
  context_.moves.decide(context_);
  plan();
  hand_over(context_);
  context_.network.decide(context_);
  write_down_times();
  context_.orders.decide(context_);  // the durable part of the step ends here
  context_.sessions.tell(context_);
  context_.drains.find_done(context_);
  context_.alerts.decide(context_);
  context_.statuses.decide(context_);
  context_.calls.decide(context_);
  context_.runs.decide(context_);
  context_.documents.decide(context_);
}

// What nodes say is recorded and shown. Nothing is placed, stopped, moved or forgotten.
void Controller::look_on() {
  context_.reachability.decide(context_);
  context_.readiness.decide(context_);
  control::look_on(context_);
  context_.orders.look_on();
  context_.alerts.decide(context_);
  context_.statuses.decide(context_);
}

Effects Controller::step(Time now, std::span<const Event> batch, Pace pace) {
  context_.now = now;
  context_.state.begin_step();
  context_.effects = Effects{};
  context_.launcher.begin_step(pace);
  if (!context_.reachability.has_started()) start();
  for (const Event& event : batch) take(event);
  is_held(context_) ? look_on() : decide();
  context_.changes = Changes{};
  context_.effects.wake_at = next_wake();
  return std::move(context_.effects);
}

std::vector<Write> Controller::last_writes(Time now) {
  if (!context_.reachability.has_started()) return {};
  context_.now = now;
  context_.state.begin_step();
  context_.drains.write_down(context_, Duration{});
  context_.lifetime.write_down_all(context_);
  return context_.state.seal();
}

// While held only what is observed changes.
Time Controller::next_look() const {
  return std::min(
      {context_.reachability.next_change(), context_.readiness.next(), context_.alerts.next()});
}

std::optional<Time> Controller::next_wake() const {
  const Time next = is_held(context_) ? next_look() : context_.next();
  return next == kNever ? std::nullopt : std::optional(next);
}

std::optional<std::string> Controller::held() const {
  const model::CounterRecord& counters = durable().counters;
  if (!counters.hold) return std::nullopt;
  return to_text(*counters.hold);
}

std::vector<std::string> Controller::names_of(const model::InstanceKey& key) const {
  return context_.network.names_of(key);
}

placement::Snapshot Controller::snapshot() const { return snapshot_of(context_); }

Duration Controller::time_left(const model::InstanceKey& key) const {
  const auto* record = context_.state.find<model::InstanceRecord>(key);
  return record == nullptr ? Duration{} : context_.lifetime.time_left(context_, *record);
}

}  // namespace berth::control
