#include <fmt/format.h>

#include <algorithm>

#include "control/launcher/handover.h"
#include "control/launcher/rollouts.h"
#include "control/launcher/trials.h"
#include "control/passes.h"
#include "placement/request.h"

namespace berth::control {
namespace {

// --- What the documents say --------------------------------------------------------------------

// The version that runs, where it is not the one that is asked for. What is preinstalled cannot be
// gone back to: nobody has given us its item.
std::optional<std::string> other_version(const Durable& durable, const RequestKey& key,
                                         const std::string& asked) {
  for (const model::InstanceRecord* record : records_of(durable, key)) {
    if (!record->place || record->preinstalled || record->version == asked) continue;
    if (durable.items.contains({key.first, record->version})) return record->version;
  }
  return std::nullopt;
}

// Whether they are on trial, and so may not be paused yet, has changed.
void mark_paused(Context& context, const RequestKey& key) {
  for (const model::InstanceRecord* record : records_of(context.state.durable(), key)) {
    if (record->paused) context.mark(*record);
  }
}

void end(Context& context, const RequestKey& key) {
  mark_paused(context, key);
  context.state.erase<model::RolloutRecord>(key);
  context.rollouts.erase(key);
}

void begin(Context& context, const RequestKey& key, const model::RolloutRecord& rollout) {
  end(context, key);
  context.state.put(rollout);
  context.note(NoteKind::RolloutBegun, name_of(key), in_words(rollout));
}

// The same version as before: who asks once more may ask for it to keep what works.
void keep_what_works(Context& context, const model::RolloutRecord& known) {
  if (known.edited) return;
  model::RolloutRecord rollout = known;
  rollout.allow_partial = true;
  context.state.put(rollout);
}

// One that is superseded goes back, if it must, to the last version that everything ran. What was
// to be started anew because of an edit still is, unless it gets another version.
void follow(Context& context, const RequestKey& key, const std::string& asked) {
  const Durable& durable = context.state.durable();
  const bool partial = context.partial_rollouts.contains(key);
  const auto known = durable.rollouts.find(key);
  const bool is_known = known != durable.rollouts.end();
  if (is_known && known->second.to == asked) {
    if (partial) keep_what_works(context, known->second);
    return;
  }
  const auto other = other_version(durable, key, asked);
  if (!is_known && !other) return;
  model::RolloutRecord rollout{.item = key.first,
                               .subject = key.second,
                               .from = other.value_or(asked),
                               .to = asked,
                               .allow_partial = partial && other,
                               .failed = {},
                               .kept_back = {},
                               .edited = !other};
  if (is_known) {
    rollout.outdated = known->second.outdated;
    if (other) rollout.from = known->second.from;
  }
  if (!other && rollout.outdated.empty()) return end(context, key);
  begin(context, key, rollout);
}

void follow_documents(Context& context) {
  const auto asked = asked_versions(context.state.durable());
  std::vector<RequestKey> unasked;
  for (const auto& [key, rollout] : context.state.durable().rollouts) {
    if (!asked.contains(key)) unasked.push_back(key);
  }
  for (const RequestKey& key : unasked) end(context, key);
  for (const auto& [key, version] : asked) follow(context, key, version);
  context.partial_rollouts.clear();
}

// --- How it goes -------------------------------------------------------------------------------

enum class Stage {
  Away,    // its node cannot tell us, or be told
  Old,     // has not had its turn
  Coming,  // has been told
  Active,  // and must stay so for a while
  Proven,
};

// One look at one rollout: who is well, who has failed, whose turn it is.
class RolloutOf {
 public:
  RolloutOf(Context& context, const RequestKey& key)
      : context_(context),
        key_(key),
        record_(context.state.durable().rollouts.at(key)),
        rollout_(context.rollouts[key]) {}

  // Whether it must be looked at once more.
  bool take() {
    if (const auto culprit = look_at_instances()) {
      give_up(context_, key_, culprit->first, culprit->second);
      return record_.allow_partial;
    }
    forget_the_unplaced();
    rollout_.look_again = false;
    give_turns();
    rollout_.at_rest = coming_ == 0 && watched_ == 0 && old_.empty();
    rollout_.wake = next_look(rollout_);
    if (rollout_.at_rest && away_ == 0 && record_.kept_back.empty()) finish();
    return false;
  }

 private:
  using Culprit = std::pair<model::InstanceKey, model::Problem>;

  std::optional<Culprit> look_at_instances() {
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
  bool is_done(const model::InstanceRecord& record) const {
    if (!has_gone_back(record_, record.key)) return false;
    if (record.version != record_.from) return true;
    if (record_.outdated.contains(record.key.index)) return record_.halted.has_value();
    return !is_over(record_);
  }

  void count(const model::InstanceKey& key, Stage stage) {
    switch (stage) {
      case Stage::Away: ++away_; break;
      case Stage::Old: old_.push_back(key); break;
      case Stage::Coming: ++coming_; break;
      case Stage::Active: ++watched_; break;
      case Stage::Proven: break;
    }
    if (stage == Stage::Away || stage == Stage::Old) rollout_.trials.erase(key);
  }

  Stage stage_of(const model::InstanceRecord& record) {
    const ObservedNode* node = context_.find_node(record.place->node);
    const bool away =
        node == nullptr || !node->reachable() || node->info.state == model::NodeState::Error;
    const bool is_old = record.version != goal_of(record_, record.key);
    if (is_old || awaits_restart(context_, record)) return away ? Stage::Away : Stage::Old;
    if (record_.proven.contains(record.key.index)) return Stage::Proven;
    if (away) return Stage::Away;
    const bool goes_back = is_over(record_) && !record_.outdated.contains(record.key.index);
    return goes_back ? stage_of_one_that_goes_back(record) : judge(record);
  }

  // It need not prove anything: there is nothing else that it could do.
  Stage stage_of_one_that_goes_back(const model::InstanceRecord& record) const {
    const auto* status = run_as_told(context_, record);
    const bool comes = status == nullptr || status->state == model::InstanceState::Activating;
    return comes ? Stage::Coming : Stage::Proven;
  }

  Stage judge(const model::InstanceRecord& record) {
    const auto* status = run_as_told(context_, record);
    const auto* before = run_at_its_place(context_, record);
    const auto trial =
        rollout_.trials.try_emplace(record.key, begin_trial(context_, record, before)).first;
    Judgement judgement = control::judge(context_, record, status, trial->second);
    if (judgement.progress == Progress::Proven) return prove(record);
    if (judgement.progress == Progress::Failed) problem_ = std::move(judgement.problem);
    return judgement.progress == Progress::Watched ? Stage::Active : Stage::Coming;
  }

  Stage prove(const model::InstanceRecord& record) {
    rollout_.trials.erase(record.key);
    rollout_.restarted.erase(record.key);
    record_.outdated.erase(record.key.index);
    if (!has_gone_back(record_, record.key)) record_.proven.insert(record.key.index);
    context_.state.put(record_);
    if (record.paused) context_.mark(record);
    return Stage::Proven;
  }

  void forget_the_unplaced() {
    std::erase_if(rollout_.trials,
                  [&](const auto& entry) { return !placed_.contains(entry.first); });
  }

  void give_turns() {
    for (const model::InstanceKey& key : old_) {
      if (coming_ >= context_.config.rollout_at_once) return;
      ++coming_;
      const model::InstanceRecord& record = *context_.state.find<model::InstanceRecord>(key);
      if (record.version == goal_of(record_, key)) {
        restart(record);
      } else {
        rollout_.turns.insert(key);
        context_.dirty.plan = true;
      }
    }
  }

  // Where it is, and in the same version: that needs no plan.
  void restart(const model::InstanceRecord& record) {
    rollout_.restarted.insert(record.key);
    rollout_.look_again = true;  // its trial begins
    context_.mark(record);
  }

  void finish() {
    context_.note(NoteKind::RolloutDone, name_of(key_),
                  "version " + (is_over(record_) ? record_.from : record_.to));
    const RequestKey key = key_;
    const bool stays_on_record = record_.failed.has_value();
    stays_on_record ? void(context_.rollouts.erase(key)) : end(context_, key);
  }

  Context& context_;
  const RequestKey key_;
  model::RolloutRecord record_;
  Rollout& rollout_;
  std::optional<model::Problem> problem_;
  std::set<model::InstanceKey> placed_;
  std::vector<model::InstanceKey> old_;
  std::uint32_t away_ = 0;
  std::uint32_t coming_ = 0;
  std::uint32_t watched_ = 0;
};

bool is_dirty(const Context& context, const RequestKey& key) {
  if (context.dirty.plan) return true;
  const auto found = context.rollouts.find(key);
  if (found == context.rollouts.end()) return true;
  const Rollout& rollout = found->second;
  if (rollout.look_again || rollout.wake <= context.now) return true;
  const auto first = context.dirty.statuses.lower_bound({key.first, key.second, 0});
  return first != context.dirty.statuses.end() && first->item == key.first &&
         first->subject == key.second;
}

void take_turns(Context& context) {
  if (context.dirty.plan) follow_documents(context);
  std::vector<RequestKey> due;
  for (const auto& [key, record] : context.state.durable().rollouts) {
    if (is_under_way(record) && is_dirty(context, key)) due.push_back(key);
  }
  for (const RequestKey& key : due) {
    while (RolloutOf(context, key).take()) {
    }
  }
}

bool must_look_again(const Context& context) {
  return std::ranges::any_of(context.rollouts,
                             [](const auto& entry) { return entry.second.look_again; });
}

}  // namespace

void rollout_pass(Context& context) {
  if (!context.reachability.settled()) return;
  do {
    take_turns(context);
    launcher_pass(context);
  } while (must_look_again(context));
}

}  // namespace berth::control
