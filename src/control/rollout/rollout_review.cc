#include "control/rollout/rollout_review.h"

#include <algorithm>

#include "control/context.h"
#include "control/rollout/handover.h"
#include "control/rollout/rollout_record.h"

namespace berth::control {

Time next_look(const Rollout& rollout) {
  Time next = kNever;
  for (const auto& [key, trial] : rollout.trials) next = std::min(next, next_look(trial));
  return next;
}

RolloutReview::RolloutReview(Context& context, const RequestKey& key, Rollout& rollout)
    : context_(context),
      key_(key),
      record_(context.state.durable().rollouts.at(key)),
      rollout_(rollout) {}

std::optional<RolloutReview::Culprit> RolloutReview::take() {
  if (auto culprit = look_at_instances()) return culprit;
  forget_the_unplaced();
  rollout_.look_again = false;
  give_turns();
  rollout_.is_idle = coming_ == 0 && watched_ == 0 && old_.empty();
  rollout_.wake = next_look(rollout_);
  return std::nullopt;
}

bool RolloutReview::is_finished() const {
  return rollout_.is_idle && away_ == 0 && record_.kept_back.empty();
}

std::optional<RolloutReview::Culprit> RolloutReview::look_at_instances() {
  for (const model::InstanceRecord* record : records_of(context_.state.durable(), key_)) {
    if (!record->place || record->preinstalled || is_done(*record)) continue;
    placed_.insert(record->key);
    const Stage stage = stage_of(*record);
    count(record->key, stage);
    if (problem_) return Culprit{record->key, *problem_};
  }
  return std::nullopt;
}

// What goes back is up to the plan. But where everything does, it is waited for before the next
// one is restarted.
bool RolloutReview::is_done(const model::InstanceRecord& record) const {
  if (!has_gone_back(record_, record.key)) return false;
  if (record.version != record_.from) return true;
  if (record_.outdated.contains(record.key.index)) return record_.halted.has_value();
  return !is_over(record_);
}

void RolloutReview::count(const model::InstanceKey& key, Stage stage) {
  switch (stage) {
    case Stage::Away: ++away_; break;
    case Stage::Old: old_.push_back(key); break;
    case Stage::Coming: ++coming_; break;
    case Stage::Active: ++watched_; break;
    case Stage::Proven: break;
  }
  if (stage == Stage::Away || stage == Stage::Old) rollout_.trials.erase(key);
}

RolloutReview::Stage RolloutReview::stage_of(const model::InstanceRecord& record) {
  const ObservedNode* node = context_.find_node(record.place->node);
  const bool away =
      node == nullptr || !node->reachable() || node->info.state == model::NodeState::Error;
  const bool is_old = record.version != goal_of(record_, record.key);
  if (is_old || context_.rollouts.awaits_restart(context_, record))
    return away ? Stage::Away : Stage::Old;
  if (record_.proven.contains(record.key.index)) return Stage::Proven;
  if (away) return Stage::Away;
  const bool goes_back = is_over(record_) && !record_.outdated.contains(record.key.index);
  return goes_back ? stage_of_one_that_goes_back(record) : judge(record);
}

// It need not prove anything: there is nothing else that it could do.
RolloutReview::Stage RolloutReview::stage_of_one_that_goes_back(
    const model::InstanceRecord& record) const {
  const auto* status = run_as_told(context_, record);
  const bool comes = status == nullptr || status->state == model::InstanceState::Activating;
  return comes ? Stage::Coming : Stage::Proven;
}

RolloutReview::Stage RolloutReview::judge(const model::InstanceRecord& record) {
  const auto* status = run_as_told(context_, record);
  const auto* before = run_at_its_place(context_, record);
  const auto trial =
      rollout_.trials.try_emplace(record.key, begin_trial(context_, record, before)).first;
  Judgement judgement = control::judge(context_, record, status, trial->second);
  if (judgement.progress == Progress::Proven) return prove(record);
  if (judgement.progress == Progress::Failed) problem_ = std::move(judgement.problem);
  return judgement.progress == Progress::Watched ? Stage::Active : Stage::Coming;
}

RolloutReview::Stage RolloutReview::prove(const model::InstanceRecord& record) {
  rollout_.trials.erase(record.key);
  rollout_.restarted.erase(record.key);
  record_.outdated.erase(record.key.index);
  if (!has_gone_back(record_, record.key)) record_.proven.insert(record.key.index);
  context_.state.put(record_);
  if (record.paused) context_.mark(record);
  return Stage::Proven;
}

void RolloutReview::forget_the_unplaced() {
  std::erase_if(rollout_.trials, [&](const auto& entry) { return !placed_.contains(entry.first); });
}

void RolloutReview::give_turns() {
  for (const model::InstanceKey& key : old_) {
    if (coming_ >= context_.config.rollout_at_once) return;
    ++coming_;
    const model::InstanceRecord& record = *context_.state.find<model::InstanceRecord>(key);
    if (record.version == goal_of(record_, key)) {
      restart(record);
    } else {
      rollout_.turns.insert(key);
      context_.launcher.plan_anew();
    }
  }
}

// Where it is, and in the same version: that needs no plan.
void RolloutReview::restart(const model::InstanceRecord& record) {
  rollout_.restarted.insert(record.key);
  rollout_.look_again = true;  // its trial begins
  context_.mark(record);
}

}  // namespace berth::control
