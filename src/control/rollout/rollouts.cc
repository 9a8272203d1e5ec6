#include "control/rollout/rollouts.h"

#include <fmt/format.h>

#include <algorithm>

#include "control/context.h"
#include "control/rollout/handover.h"

namespace berth::control {
namespace {

RequestKey request_of(const model::InstanceKey& key) { return {key.item, key.subject}; }

void mark_all(Context& context, const RequestKey& key) {
  for (const model::InstanceRecord* record : records_of(context.state.durable(), key)) {
    context.mark(*record);
  }
}

// Whether the instance is only started anew because of an edit: it has nothing to go back to,
// because the document before is not kept.
bool is_only_restarted(const model::RolloutRecord& rollout, const model::InstanceKey& key) {
  return rollout.edited || has_gone_back(rollout, key);
}

std::string what_follows(const model::RolloutRecord& rollout) {
  return fmt::format("{} goes back to version {}",
                     rollout.allow_partial ? "it" : "the whole request", rollout.from);
}

constexpr const char* kOthersStay =
    "those that have not been restarted keep running what they have";

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

// The same version as before: who asks once more may ask for it to keep what works.
void keep_what_works(Context& context, const model::RolloutRecord& known) {
  if (known.edited) return;
  model::RolloutRecord rollout = known;
  rollout.allow_partial = true;
  context.state.put(rollout);
}

}  // namespace

std::optional<Behind> why_it_is_behind(const Context& context,
                                       const model::InstanceRecord& record) {
  const auto& rollouts = context.state.durable().rollouts;
  if (rollouts.empty()) return std::nullopt;
  const auto found = rollouts.find({record.key.item, record.key.subject});
  if (found == rollouts.end()) return std::nullopt;
  const model::RolloutRecord& rollout = found->second;
  const auto& halted = rollout.edited ? rollout.failed : rollout.halted;
  const bool is_outdated =
      rollout.outdated.contains(record.key.index) && run_as_told(context, record) == nullptr;
  if (halted && is_outdated) {
    return Behind{Behind::Because::NotRestarted, {"NotRestarted", halted->message}};
  }
  if (rollout.edited || !has_failed(rollout)) return std::nullopt;
  if (!has_gone_back(rollout, record.key)) return std::nullopt;
  return Behind{Behind::Because::RolledBack, {"RolledBack", rollout.failed->message}};
}

// --- What the documents say --------------------------------------------------------------------

void Rollouts::end(Context& context, const RequestKey& key) {
  mark_paused(context, key);
  context.state.erase<model::RolloutRecord>(key);
  under_way_.erase(key);
}

void Rollouts::begin(Context& context, const RequestKey& key, const model::RolloutRecord& rollout) {
  end(context, key);
  context.state.put(rollout);
  context.note(NoteKind::RolloutBegun, name_of(key), in_words(rollout));
}

// One that is superseded goes back, if it must, to the last version that everything ran. What was
// to be started anew because of an edit still is, unless it gets another version.
void Rollouts::follow(Context& context, const RequestKey& key, const std::string& asked) {
  const Durable& durable = context.state.durable();
  const bool partial = partial_.contains(key);
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

void Rollouts::follow_documents(Context& context) {
  const Durable& durable = context.state.durable();
  const Requests& requests = context.state.requests();
  std::vector<RequestKey> unasked;
  for (const auto& [key, rollout] : durable.rollouts) {
    if (requests.find(key) == nullptr) unasked.push_back(key);
  }
  for (const RequestKey& key : unasked) end(context, key);
  for (const auto& [key, asked] : requests.all()) {
    follow(context, key, item_of(durable, *asked.run).version);
  }
  partial_.clear();
}

void Rollouts::restart(Context& context, const RequestKey& key, const std::string& version) {
  const auto& rollouts = context.state.durable().rollouts;
  const auto known = rollouts.find(key);
  model::RolloutRecord rollout{.item = key.first,
                               .subject = key.second,
                               .from = version,
                               .to = version,
                               .allow_partial = false,
                               .failed = {},
                               .kept_back = {},
                               .edited = true};
  if (known != rollouts.end() && !known->second.edited) rollout = known->second;
  for (const std::uint32_t index : indices_running(context.state.durable(), key, version)) {
    rollout.outdated.insert(index);
    if (version == rollout.to) rollout.proven.erase(index);
  }
  rollout.halted.reset();
  context.state.put(rollout);
  under_way_.erase(key);  // what is on trial is something else now
  mark_all(context, key);
  context.note(NoteKind::RolloutBegun, name_of(key), fmt::format("version {} as edited", version));
}

void Rollouts::try_again(Context& context, const RequestKey& key) {
  const auto& rollouts = context.state.durable().rollouts;
  const auto known = rollouts.find(key);
  if (known == rollouts.end() || !known->second.failed) return;
  model::RolloutRecord rollout = known->second;
  rollout.allow_partial = partial_.contains(key);
  rollout.failed.reset();
  rollout.kept_back.clear();
  rollout.proven.clear();
  rollout.halted.reset();
  context.state.put(rollout);
  under_way_.erase(key);
  context.note(NoteKind::RolloutBegun, name_of(key), in_words(rollout));
  context.launcher.plan_anew();
  mark_all(context, key);
}

// --- How it goes -------------------------------------------------------------------------------

bool Rollouts::must_be_reviewed(const Context& context, const RequestKey& key) const {
  if (context.launcher.plans_everything()) return true;
  const auto found = under_way_.find(key);
  if (found == under_way_.end()) return true;
  const Rollout& rollout = found->second;
  if (rollout.look_again || rollout.wake <= context.now) return true;
  const auto& changed = context.changes.instances;
  const auto first = changed.lower_bound({key.first, key.second, 0});
  return first != changed.end() && request_of(*first) == key;
}

bool Rollouts::review(Context& context, const RequestKey& key) {
  RolloutReview review(context, key, under_way_[key]);
  if (const auto culprit = review.take()) {
    give_up(context, key, culprit->first, culprit->second);
    return review.record().allow_partial;
  }
  if (review.is_finished()) finish(context, key, review.record());
  return false;
}

void Rollouts::finish(Context& context, const RequestKey& key,
                      const model::RolloutRecord& rollout) {
  context.note(NoteKind::RolloutDone, name_of(key),
               "version " + (is_over(rollout) ? rollout.from : rollout.to));
  const bool stays_on_record = rollout.failed.has_value();
  stays_on_record ? void(under_way_.erase(key)) : end(context, key);
}

void Rollouts::take_turns(Context& context) {
  if (context.launcher.plans_everything()) follow_documents(context);
  std::vector<RequestKey> due;
  for (const auto& [key, record] : context.state.durable().rollouts) {
    if (is_under_way(record) && must_be_reviewed(context, key)) due.push_back(key);
  }
  for (const RequestKey& key : due) {
    while (review(context, key)) {
    }
  }
}

bool Rollouts::any_is_under_way(const Durable& durable) {
  return std::ranges::any_of(durable.rollouts,
                             [](const auto& entry) { return is_under_way(entry.second); });
}

bool Rollouts::must_look_again() const {
  return std::ranges::any_of(under_way_, [](const auto& entry) { return entry.second.look_again; });
}

void Rollouts::turns_taken() {
  for (auto& [key, rollout] : under_way_) rollout.turns.clear();
}

Time Rollouts::next() const {
  Time next = kNever;
  for (const auto& [key, rollout] : under_way_) next = std::min(next, rollout.wake);
  return next;
}

void Rollouts::look_again(const model::InstanceKey& instance) {
  const auto rollout = under_way_.find(request_of(instance));
  if (rollout != under_way_.end()) rollout->second.look_again = true;
}

void Rollouts::set_deadline(const model::InstanceRecord& record, Time deadline) {
  const auto rollout = under_way_.find(request_of(record.key));
  if (rollout == under_way_.end()) return;
  const auto trial = rollout->second.trials.find(record.key);
  if (trial != rollout->second.trials.end()) trial->second.deadline = deadline;
  rollout->second.wake = next_look(rollout->second);
}

void Rollouts::forget_outdated(Context& context, const model::InstanceKey& instance) {
  const auto& rollouts = context.state.durable().rollouts;
  const auto known = rollouts.find({instance.item, instance.subject});
  if (known == rollouts.end() || !known->second.outdated.contains(instance.index)) return;
  model::RolloutRecord rollout = known->second;
  rollout.outdated.erase(instance.index);
  context.state.put(rollout);
}

// Those that had their turn do not wait for it any more, however it went.
void Rollouts::forget_restarted(model::RolloutRecord& rollout,
                                const model::InstanceKey& culprit) const {
  rollout.outdated.erase(culprit.index);
  const auto under_way = under_way_.find({rollout.item, rollout.subject});
  if (under_way == under_way_.end()) return;
  for (const model::InstanceKey& key : under_way->second.restarted) {
    rollout.outdated.erase(key.index);
  }
}

void Rollouts::give_up(Context& context, const RequestKey& key, const model::InstanceKey& instance,
                       const model::Problem& problem) {
  model::RolloutRecord rollout = context.state.durable().rollouts.at(key);
  const bool is_edit = is_only_restarted(rollout, instance);
  const std::string message =
      fmt::format("{} did not come up in version {}{}: {}", model::to_string(instance),
                  goal_of(rollout, instance), is_edit ? " as edited" : "",
                  problem.message.empty() ? problem.reason : problem.message);
  if (has_gone_back(rollout, instance)) {
    rollout.halted = {problem.reason, message};
  } else {
    rollout.failed = {problem.reason, message};
    if (rollout.allow_partial) rollout.kept_back.insert(instance.index);
  }
  forget_restarted(rollout, instance);
  context.state.put(rollout);
  Rollout& under_way = under_way_[key];
  under_way.trials.erase(instance);
  under_way.turns.erase(instance);
  if (is_over(rollout)) under_way = {};
  under_way.look_again = is_under_way(rollout);
  if (!is_under_way(rollout)) under_way_.erase(key);
  context.note(NoteKind::RolloutFailed, instance,
               fmt::format("{}; {}", message, is_edit ? kOthersStay : what_follows(rollout)));
  context.launcher.plan_anew();
  mark_all(context, key);
}

// --- Questions ---------------------------------------------------------------------------------

bool Rollouts::has_turn(const model::InstanceKey& instance) const {
  const auto rollout = under_way_.find(request_of(instance));
  return rollout != under_way_.end() && rollout->second.turns.contains(instance);
}

bool Rollouts::is_idle(const Context& context, const RequestKey& key) const {
  const auto& records = context.state.durable().rollouts;
  const auto record = records.find(key);
  if (record == records.end() || !is_under_way(record->second)) return true;
  const auto rollout = under_way_.find(key);
  return rollout != under_way_.end() && rollout->second.is_idle;
}

bool Rollouts::awaits_restart(const Context& context, const model::InstanceRecord& record) const {
  const RequestKey key{record.key.item, record.key.subject};
  const auto& records = context.state.durable().rollouts;
  if (records.empty()) return false;
  const auto rollout = records.find(key);
  if (rollout == records.end() || !rollout->second.outdated.contains(record.key.index))
    return false;
  const auto under_way = under_way_.find(key);
  return under_way == under_way_.end() || !under_way->second.restarted.contains(record.key);
}

placement::Versions Rollouts::versions_of(const Context& context,
                                          const model::RolloutRecord& rollout) const {
  if (is_over(rollout)) return {.whole = rollout.from, .of = {}};
  const Durable& durable = context.state.durable();
  const RequestKey key{rollout.item, rollout.subject};
  placement::Versions versions{.whole = rollout.to, .of = {}};
  for (const std::uint32_t index : rollout.kept_back) versions.of.emplace(index, rollout.from);
  for (const model::InstanceRecord* record : records_of(durable, key)) {
    const bool waits_for_its_turn = record->place && !record->preinstalled &&
                                    durable.items.contains({rollout.item, record->version}) &&
                                    !has_turn(record->key);
    if (waits_for_its_turn) versions.of.emplace(record->key.index, record->version);
  }
  return versions;
}

}  // namespace berth::control
