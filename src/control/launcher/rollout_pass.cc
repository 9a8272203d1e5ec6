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
  context.state.erase_rollout(key);
  context.rollouts.erase(key);
}

void begin(Context& context, const RequestKey& key, const std::string& from,
           const std::string& to) {
  end(context, key);
  context.state.put(model::RolloutRecord{.item = key.first,
                                         .subject = key.second,
                                         .from = from,
                                         .to = to,
                                         .allow_partial = context.partial_rollouts.contains(key),
                                         .failed = {},
                                         .kept_back = {}});
  context.note(NoteKind::RolloutBegun, "request/" + key.first.value() + "/" + key.second.value(),
               fmt::format("version {} to {}", from, to));
}

// One that is superseded goes back, if it must, to the last version that everything ran.
void follow(Context& context, const RequestKey& key, const std::string& asked) {
  const Durable& durable = context.state.durable();
  const auto known = durable.rollouts.find(key);
  if (known != durable.rollouts.end() && known->second.to == asked) return;
  const auto other = other_version(durable, key, asked);
  if (known == durable.rollouts.end()) {
    if (other) begin(context, key, *other, asked);
  } else if (other) {
    begin(context, key, std::string(known->second.from), asked);
  } else {
    end(context, key);
  }
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
class Look {
 public:
  Look(Context& context, const RequestKey& key)
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
    rollout_.wake = wake_at();
    if (rollout_.at_rest && away_ == 0 && record_.kept_back.empty()) finish();
    return false;
  }

 private:
  using Culprit = std::pair<model::InstanceKey, model::Problem>;

  std::optional<Culprit> look_at_instances() {
    for (const model::InstanceRecord* record : records_of(context_.state.durable(), key_)) {
      if (!record->place || record_.kept_back.contains(record->key.index)) continue;
      if (record->preinstalled) continue;
      placed_.insert(record->key);
      const Stage stage = stage_of(*record);
      count(record->key, stage);
      if (problem_) return Culprit{record->key, *problem_};
    }
    return std::nullopt;
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
    if (record.version != record_.to) return away ? Stage::Away : Stage::Old;
    if (record_.proven.contains(record.key.index)) return Stage::Proven;
    if (awaits_restart(context_, record)) return away ? Stage::Away : Stage::Old;
    return away ? Stage::Away : judge(record);
  }

  Stage judge(const model::InstanceRecord& record) {
    const auto* status =
        record_.edited ? run_as_told(context_, record) : run_at_its_place(context_, record);
    const auto trial =
        rollout_.trials.try_emplace(record.key, begin_trial(context_, record, status)).first;
    Judgement judgement = control::judge(context_, record, status, trial->second);
    if (judgement.progress == Progress::Proven) return prove(record);
    if (judgement.progress == Progress::Failed) problem_ = std::move(judgement.problem);
    return judgement.progress == Progress::Watched ? Stage::Active : Stage::Coming;
  }

  Stage prove(const model::InstanceRecord& record) {
    rollout_.trials.erase(record.key);
    record_.proven.insert(record.key.index);
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
      if (record_.edited) {
        restart(key);
      } else {
        rollout_.turns.insert(key);
        context_.dirty.plan = true;
      }
    }
  }

  // Where it is, and in the same version: that needs no plan.
  void restart(const model::InstanceKey& key) {
    rollout_.restarted.insert(key);
    rollout_.look_again = true;  // its trial begins
    context_.mark(*context_.state.find_instance(key));
  }

  Time wake_at() const {
    Time wake = kNever;
    for (const auto& [key, trial] : rollout_.trials) {
      wake = std::min(wake, next_look(context_, trial));
    }
    return wake;
  }

  void finish() {
    context_.note(NoteKind::RolloutDone,
                  "request/" + key_.first.value() + "/" + key_.second.value(),
                  "version " + record_.to);
    const RequestKey key = key_;
    end(context_, key);
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
    if (!is_over(record) && is_dirty(context, key)) due.push_back(key);
  }
  for (const RequestKey& key : due) {
    while (Look(context, key).take()) {
    }
  }
}

bool must_look_again(const Context& context) {
  return std::ranges::any_of(context.rollouts,
                             [](const auto& entry) { return entry.second.look_again; });
}

}  // namespace

void rollout_pass(Context& context) {
  if (!context.settled) return;
  do {
    take_turns(context);
    launcher_pass(context);
  } while (must_look_again(context));
}

}  // namespace berth::control
