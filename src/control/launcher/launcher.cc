#include "control/launcher/launcher.h"

#include <fmt/format.h>

#include <algorithm>

#include "control/calls/consequences.h"
#include "control/context.h"
#include "control/launcher/extents.h"
#include "control/launcher/plan_recording.h"
#include "control/launcher/snapshot.h"
#include "control/rollout/handover.h"
#include "placement/plan.h"
#include "placement/relief_text.h"

namespace berth::control {
namespace {

using placement::Placement;
using placement::Plan;
using placement::Refusal;

// A plan is at rest, but what it refuses can change what is asked: without a place, an instance is
// wanted in the version that its rollout goes to, or goes back to, and that may fit. It settles at
// once in practice; the bound keeps a surprise from stopping the daemon.
constexpr int kPlansPerStep = 8;

// Rollouts whose next instance finds no room in its new version have failed; it is left alone.
bool give_up_refused_turns(Context& context, const Plan& plan) {
  bool any = false;
  for (const Refusal& refusal : plan.refused) {
    if (!context.rollouts.has_turn(refusal.key)) continue;
    context.rollouts.give_up(context, {refusal.key.item, refusal.key.subject}, refusal.key,
                             {std::string(model::to_string(refusal.reason)), refusal.hint});
    any = true;
  }
  return any;
}

// What has failed to move and finds no other place, and may not stay, must come up where it is.
bool go_on_with_refused_moves(Context& context, const Plan& plan) {
  bool any = false;
  for (const Refusal& refusal : plan.refused) any |= context.moves.go_on(context, refusal.key);
  return any;
}

// What is to run nowhere has nothing to lose where it did not come up lately.
bool try_refused_again(Context& context, const Plan& plan) {
  bool any = false;
  for (const Refusal& refusal : plan.refused) any |= context.moves.avoid_nothing(refusal.key);
  return any;
}

std::map<RequestKey, std::string> asked_by_the_call(const Context& context) {
  std::map<RequestKey, std::string> versions;
  for (const RequestKey& key : context.calls.asked().requests) {
    const auto* asked = context.state.requests().find(key);
    if (asked == nullptr) continue;
    versions.emplace(key, item_of(context.state.durable(), *asked->run).version);
  }
  return versions;
}

placement::Options options_for(const Rebalance& rebalance) {
  placement::Options options{.answers = placement::Answers::Kept};
  options.mode = rebalance.scope == RebalanceScope::Everything ? placement::Mode::RebalanceFull
                                                               : placement::Mode::RebalanceMinimal;
  options.relieve = rebalance.only;
  return options;
}

// Placing everything anew displaces nobody, so it can leave one without a place that has one.
const Refusal* find_left_out(const placement::Snapshot& snapshot, const Plan& plan) {
  const auto left_out = std::ranges::find_if(plan.refused, [&](const Refusal& refusal) {
    return !refusal.left_running && snapshot.present.contains(refusal.key);
  });
  return left_out == plan.refused.end() ? nullptr : &*left_out;
}

void note_relief(Context& context, const placement::Relief& relief) {
  context.loads.attempted(relief.node, {context.now, context.launcher.cluster_changes()});
  if (relief.unrelieved) {
    context.note(NoteKind::NotRelieved, relief.node,
                 fmt::format("{}: {}", model::to_string(*relief.unrelieved), why_text(relief)));
    return;
  }
  context.note(NoteKind::Rebalanced, relief.node,
               fmt::format("{} leaving: {}", relief.leaving.size(), usage_text(relief)));
}

// Its moves are waited for, whether or not somebody asked for it.
void begin_rebalance(Context& context, const Rebalance& rebalance, const Plan& plan,
                     const Changed& changed) {
  for (const placement::Relief& relief : plan.relief) note_relief(context, relief);
  RunFor wanted{.call = rebalance.call};
  if (rebalance.call) wanted.asked_for = asked_by_the_call(context);
  context.rebalances.began(context.runs.begin(context, std::move(wanted), changed));
  if (!rebalance.call) return;
  AcceptedCall accepted{.call = *rebalance.call, .relief = plan.relief};
  for (const Placement& placement : plan.placements) {
    if (placement.from) accepted.moved.push_back(placement.key);
  }
  context.calls.answer_when_sealed(std::move(accepted));
}

}  // namespace

// --- What others tell --------------------------------------------------------------------------

void Launcher::plan_anew() {
  must_plan_ = all_changed_ = true;
  standing_.reset();  // it may point to what is there no longer
}

void Launcher::cluster_changed() {
  plan_anew();
  ++cluster_changes_;
}

void Launcher::desire_changed() {
  must_plan_ = true;
  ++cluster_changes_;
}

void Launcher::asks_for(Context& context, const RequestKey& key, const Extent& extent) {
  const Durable& durable = context.state.durable();
  const bool changes_version =
      durable.rollouts.contains(key) || Rollouts::any_is_under_way(durable);
  const auto [known, is_new] = extents_.emplace(key, extent);
  if (!is_new) known->second.now = extent.now;
  if (changes_version) return plan_anew();
  must_plan_ = true;
}

void Launcher::plan_everything() {
  must_plan_ = looks_at_all_ = true;
  standing_.reset();
}

// --- What was planned goes on ------------------------------------------------------------------

placement::LowerOn Launcher::lower_on(const Context& context) const {
  return [this, &context](std::size_t node, std::int64_t priority) {
    return held_by_lower(context, standing_->cluster(), node, priority);
  };
}

bool Launcher::follow_usage_of(Context& context, const model::NodeId& id) {
  const ObservedNode* node = context.find_node(id);
  const auto position = standing_->cluster().find(id);
  if (node == nullptr || !position) return false;
  return standing_->set_system_usage(*position, system_usage_of(*node), lower_on(context));
}

// Whether somebody who waits may find a place by that.
bool Launcher::follow_usage(Context& context) {
  const bool anybody_waits = !context.state.waiting().empty() || !refused_starts_.empty();
  if (used_otherwise_.empty() || !(must_plan_ || anybody_waits)) return false;
  const std::set<model::NodeId> changed = std::exchange(used_otherwise_, {});
  if (!standing_) return anybody_waits;
  bool helps = false;
  for (const model::NodeId& id : changed) helps |= follow_usage_of(context, id);
  return helps;
}

// Whether that concerns nobody else: nobody who waits could have their room.
bool Launcher::could_be_let_go(Context& context,
                               const std::vector<model::InstanceRecord>& unasked) {
  std::vector<placement::Holding> holdings;
  for (const model::InstanceRecord& record : unasked) {
    if (!record.place) continue;
    auto holding = holding_of(context, standing_->cluster(), record);
    if (!holding) return false;
    holdings.push_back(*std::move(holding));
  }
  return !standing_->let_go(holdings, lower_on(context));
}

void Launcher::add_pools(Context& context, std::vector<placement::Ask>& asks) {
  if (!context.sessions.pools().has_asks()) return;
  std::vector<placement::Ask> pools = context.sessions.pools().take_asks();
  asks.insert(asks.end(), pools.begin(), pools.end());
  std::ranges::sort(asks, placement::scheduled_before);
}

void Launcher::pool_instance_gone(Context& context, const PoolMember& member) {
  if (!standing_) return;
  const placement::Cluster& cluster = standing_->cluster();
  const auto holding = holding_of(cluster, member);
  const bool concerns_others = !holding || standing_->let_go({*holding}, lower_on(context));
  if (!concerns_others) return;
  must_plan_ = true;
  standing_.reset();
}

// Whether that was all there was to do, but for what a later step goes on with.
bool Launcher::go_on(Context& context) {
  if (!standing_) return false;
  const bool waits_its_turn = !additions_.empty() && !may_go_on_;
  const auto unasked = unasked_instances(context, extents_);
  if (!unasked || !could_be_let_go(context, *unasked)) return false;
  if (!additions_.add(context, extents_)) return false;
  auto asks = additions_.take(context, waits_its_turn ? 0 : context.config.placed_at_once);
  may_go_on_ = false;
  if (asks) add_pools(context, *asks);
  auto decisions = asks ? standing_->add(*std::move(asks)) : std::nullopt;
  if (!decisions) return false;
  const Recorded recorded = record_decisions(context, *decisions, *unasked, changes_);
  if (!recorded.as_is) standing_.reset();
  return true;
}

// --- Everything is planned ---------------------------------------------------------------------

void Launcher::plan_until_it_rests(Context& context) {
  for (int i = 0; i < kPlansPerStep; ++i) {
    const placement::Snapshot snapshot = snapshot_of(context);
    placement::WholePlan whole = placement::plan_everything(snapshot);
    const Plan& plan = whole.decisions.plan;
    if (give_up_refused_turns(context, plan) || go_on_with_refused_moves(context, plan) ||
        try_refused_again(context, plan)) {
      --i;  // each time there are fewer turns, fewer moves, and fewer nodes to avoid
      continue;
    }
    const Tell tell = all_changed_ ? Tell::Everybody : Tell::WhoAskedAndWhoIsNew;
    const Recorded recorded = record_plan(context, whole.decisions, tell, nullptr, changes_);
    context.moves.planned();
    context.rollouts.turns_taken();
    standing_ = recorded.as_is ? std::move(whole.standing) : std::nullopt;
    if (!recorded.any || plan.refused.empty()) return;
  }
}

void Launcher::rebalance(Context& context) {
  const auto due = context.rebalances.take_due();
  if (!due) return;
  const Rebalance& rebalance = *due;
  const placement::Snapshot snapshot = snapshot_of(context);
  placement::Decisions decisions{placement::make_plan(snapshot, options_for(rebalance)),
                                 placement::expand(snapshot)};
  const Plan& plan = decisions.plan;
  const Refusal* left_out = find_left_out(snapshot, plan);
  if (rebalance.scope == RebalanceScope::Everything && left_out != nullptr) {
    context.effects.replies.push_back(
        {*rebalance.call,
         Error{Code::Conflict,
               fmt::format("nothing was moved: placed anew, {} would be without a place ({})",
                           model::to_string(left_out->key), model::to_string(left_out->reason))}});
    return context.rebalances.ended(context, 0);
  }
  record_plan(context, decisions, Tell::Everybody, &rebalance, changes_);
  begin_rebalance(context, rebalance, plan, changes_.changed);
}

// What runs on under the same version, but with another document, has to be confirmed too.
void Launcher::add_edited(Context& context) {
  for (const model::ItemKey& item : context.changes.edited_items) {
    const auto& instances = context.state.durable().instances;
    auto it = instances.lower_bound({item.item, model::SubjectId{}, 0});
    for (; it != instances.end() && it->first.item == item.item; ++it) {
      if (it->second.place && it->second.version == item.version) changes_.changed[it->first];
    }
  }
  for (const model::InstanceKey& key : context.calls.asked().overridden) changes_.changed[key];
}

// What is asked for is waited for, whether or not anything about it changes.
void Launcher::add_asked(Context& context) {
  for (const model::InstanceKey& key : context.calls.asked().instances) {
    changes_.changed[key];
  }
}

void Launcher::begin_runs(Context& context) {
  if (!context.calls.needs_plan()) return;
  AcceptedCall accepted{.planned = true,
                        .requests = context.calls.asked().requests,
                        .consequences = consequences_of_the_plan(context, changes_)};
  for (const auto& [key, nodes] : changes_.changed) {
    const bool is_asked_for = accepted.requests.contains({key.item, key.subject});
    if (!is_asked_for) accepted.changed.push_back(key);
  }
  add_edited(context);
  add_asked(context);
  const auto asked_for = asked_by_the_call(context);
  for (const CallId call : context.calls.take_planned()) {
    accepted.call = call;
    context.calls.answer_when_sealed(accepted);
    context.runs.begin(context, {.call = call, .asked_for = asked_for}, changes_.changed);
  }
}

void Launcher::plan_all(Context& context) {
  // What did not come up elsewhere is sorted out before anything else moves.
  if (context.moves.any_has_failed()) plan_until_it_rests(context);
  rebalance(context);
  plan_until_it_rests(context);
  std::erase_if(refused_starts_, [&](const model::InstanceKey& key) {
    const auto* record = context.state.find<model::InstanceRecord>(key);
    return record == nullptr || !start_was_refused(context, *record);
  });
  const bool may_stand = context.config.walk == Walk::Dirty && refused_starts_.empty();
  if (!may_stand) standing_.reset();
}

void Launcher::decide(Context& context) {
  if (!context.reachability.settled()) return;
  const bool helps_somebody = follow_usage(context);
  const bool goes_on = !additions_.empty();
  const bool pools_ask = context.sessions.pools().has_asks();
  if (!must_plan_ && !helps_somebody && !pools_ask && !(goes_on && may_go_on_)) return;
  if (!goes_on) changes_ = {};
  if (helps_somebody || plans_everything() || !go_on(context)) {
    plan_all(context);
    additions_.clear();
  }
  must_plan_ = all_changed_ = looks_at_all_ = false;
  extents_.clear();
  // What made us plan may also have changed how much room there is.
  context.orders.look_at_postponed();
  if (additions_.empty()) begin_runs(context);
}

Time Launcher::next(const Context& context) const {
  return additions_.empty() || pace_ == Pace::HeldBack ? kNever : context.now;
}

}  // namespace berth::control
