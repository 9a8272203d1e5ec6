#include <fmt/format.h>

#include "control/launcher/handover.h"
#include "control/launcher/moves.h"
#include "control/launcher/rollouts.h"
#include "control/launcher/trials.h"
#include "control/passes.h"

namespace berth::control {
namespace {

Move* find_move(Context& context, const model::InstanceRecord& record) {
  const auto move = context.moves.find(record.key);
  const bool is_this = move != context.moves.end() && move->second.target == record.place;
  return is_this ? &move->second : nullptr;
}

Move& begin(Context& context, const model::InstanceRecord& record) {
  Move& move = context.moves[record.key];
  move = {.target = *record.place,
          .trial = begin_trial(context, record, run_as_told(context, record))};
  return move;
}

Judgement judge(Context& context, const model::InstanceRecord& record, Move& move) {
  const auto* status = run_as_told(context, record);
  if (status != nullptr && status->problem.reason == "RuntimeNotReady") {
    return {Progress::Failed, status->problem};
  }
  if (is_given_up(context, record.place->node)) {
    return {Progress::Failed, {"NodeLost", record.place->node.value() + " is given up"}};
  }
  if (is_failed_node(context, record.place->node)) {
    return {Progress::Failed, {"NodeError", record.place->node.value() + " can run nothing"}};
  }
  return control::judge(context, record, status, move.trial);
}

void avoid(Context& context, const model::InstanceRecord& record) {
  Avoided& avoided = context.avoided[record.key];
  if (avoided.version != record.version) avoided = {.version = record.version, .until = {}};
  const Time until = context.now + context.config.failed_move_retry;
  avoided.until.insert_or_assign(record.place->node, until);
  context.avoided_alarms.set(record.key, avoided.until.begin()->second);
  for (const auto& [node, time] : avoided.until) {
    if (time < until) context.avoided_alarms.set(record.key, time);
  }
}

std::string problem_in_words(const model::Problem& problem) {
  return problem.message.empty() ? problem.reason
                                 : fmt::format("{}: {}", problem.reason, problem.message);
}

void fail(Context& context, const model::InstanceRecord& record, const model::Problem& problem) {
  avoid(context, record);
  const std::string why = fmt::format("it did not come up on {}: {}",
                                      model::to_string(*record.place), problem_in_words(problem));
  context.failed_moves.insert_or_assign(record.key, why);
  const model::Leaving& source = *record.leaving;
  if (source.empty) context.returning.insert_or_assign(record.key, source.place.node);
  context.note(NoteKind::MoveFailed, record.key,
               fmt::format("{}; it {} {}", why, source.empty ? "goes back to" : "still serves on",
                           model::to_string(source.place)));
  context.dirty.plan = true;
}

// A change of the version is judged by its rollout; and where nothing serves any more there is
// nothing to go back to.
bool can_be_given_up(const Context& context, const model::InstanceRecord& record) {
  if (!can_go_back(context, record) || context.failed_moves.contains(record.key)) return false;
  const bool is_stopping = record.leaving->stop_first && !record.leaving->empty;
  return !is_stopping && record.leaving->version == record.version;
}

// Until when the only place that there is may fail. Not for long while nothing serves: where it has
// handed over, it goes back to as soon as it can. That it cannot has just been seen.
Time last_chance(const model::InstanceRecord& record, const Move& move) {
  const bool is_down = record.leaving && record.leaving->empty;
  return is_down ? move.go_back_at : move.trial.deadline;
}

bool must_come_up_here(const Context& context, const model::InstanceRecord& record,
                       const Move& move) {
  return move.is_last_resort && context.now < last_chance(record, move);
}

// One that has failed is looked at at once if it can be given up, else when it has another chance.
std::optional<Time> next_look_at(const Context& context, const model::InstanceRecord& record,
                                 const Move& move, const Judgement& judgement) {
  if (judgement.progress != Progress::Failed) return next_look(move.trial);
  if (must_come_up_here(context, record, move)) return last_chance(record, move);
  if (can_be_given_up(context, record)) return context.now;
  return std::nullopt;
}

void look_at(Context& context, const model::InstanceKey& key) {
  const auto* record = context.state.find<model::InstanceRecord>(key);
  if (record == nullptr || !record->place || !can_be_given_up(context, *record)) return;
  Move* move = find_move(context, *record);
  if (move == nullptr) return;
  const Judgement judgement = judge(context, *record, *move);
  if (judgement.progress != Progress::Failed) return;
  if (must_come_up_here(context, *record, *move)) return;
  fail(context, *record, judgement.problem);
}

Judgement watch(Context& context, const model::InstanceRecord& record) {
  Move* move = find_move(context, record);
  if (move == nullptr) move = &begin(context, record);
  Judgement judgement = judge(context, record, *move);
  context.move_alarms.set(record.key, next_look_at(context, record, *move, judgement));
  return judgement;
}

// Whether it has come back to where it was, or cannot: then it may go elsewhere again.
bool has_returned(const Context& context, const model::InstanceKey& key,
                  const model::NodeId& node) {
  const auto* record = context.state.find<model::InstanceRecord>(key);
  if (record == nullptr || !record->place || record->place->node != node) return true;
  if (is_failed_node(context, node)) return true;
  const auto* status = run_as_told(context, *record);
  return status != nullptr && status->state != model::InstanceState::Activating;
}

void release_the_returned(Context& context) {
  std::erase_if(context.returning, [&](const auto& entry) {
    if (!has_returned(context, entry.first, entry.second)) return false;
    context.dirty.plan = true;
    return true;
  });
}

void forget_old_failures(Context& context) {
  for (const model::InstanceKey& key : context.avoided_alarms.take_due(context.now)) {
    const auto avoided = context.avoided.find(key);
    std::optional<Time> next;
    std::erase_if(avoided->second.until, [&](const auto& entry) {
      if (entry.second <= context.now) return true;
      take_earlier(next, entry.second);
      return false;
    });
    context.avoided_alarms.set(key, next);
    if (!next) context.avoided.erase(avoided);
    context.dirty.plan = true;
  }
}

// Where neither copy comes up, that of the source is one too many once the target has had its time:
// else a node would never be rid of what fails everywhere.
bool has_had_its_time(Context& context, const model::InstanceRecord& record) {
  Move* move = find_move(context, record);
  if (move == nullptr) move = &begin(context, record);
  const Judgement judgement = judge(context, record, *move);
  const bool is_over = context.now >= move->trial.deadline;
  if (!is_over) context.move_alarms.set(record.key, move->trial.deadline);
  return is_over && judgement.progress == Progress::Failed;
}

// It could not go back for as long as it had to come up: it is where it failed.
bool is_stranded(Context& context, const model::InstanceRecord& record,
                 const Judgement& judgement) {
  const Move* move = find_move(context, record);
  return move != nullptr && move->is_last_resort && record.leaving->empty &&
         judgement.progress == Progress::Failed && context.now >= move->trial.deadline;
}

}  // namespace

void watch_move(Context& context, const model::InstanceRecord& record) { watch(context, record); }

bool has_arrived(Context& context, const model::InstanceRecord& record) {
  // Where there is nothing to go back to, there is nothing to be careful with; what has done its
  // work has been there.
  if (!can_go_back(context, record)) {
    const auto* status = run_at_its_place(context, record);
    if (status != nullptr && (model::is_up(status->state) || status->finished)) return true;
    return has_had_its_time(context, record);
  }
  // It comes back to where it has been running all the time.
  const bool is_there = is_active_at_its_place(context, record);
  if (is_there && find_move(context, record) == nullptr) return true;
  // What its rollout has judged is not judged twice.
  const bool is_other = record.leaving->version != record.version;
  if (is_there && is_other && record.leaving->empty && !is_on_trial(context, record)) return true;
  const Judgement judgement = watch(context, record);
  return judgement.progress == Progress::Proven || is_stranded(context, record, judgement);
}

void forget_move(Context& context, const model::InstanceKey& key) {
  context.moves.erase(key);
  context.move_alarms.set(key, std::nullopt);
}

bool has_failed_to_move(const Context& context, const model::InstanceRecord& record) {
  return context.failed_moves.contains(record.key) && can_go_back(context, record);
}

bool go_on_moving(Context& context, const model::InstanceKey& key) {
  if (context.failed_moves.erase(key) == 0) return false;
  const auto* record = context.state.find<model::InstanceRecord>(key);
  if (record == nullptr || !can_go_back(context, *record)) return false;
  Move* known = find_move(context, *record);
  const bool is_down = record->leaving->empty;  // then its time goes on
  Move& move = known != nullptr && is_down ? *known : begin(context, *record);
  move.is_last_resort = true;
  move.go_back_at = context.now + context.config.go_back_retry;
  context.dirty.statuses.insert(key);
  return true;
}

void avoid_nothing(Context& context, const RequestKey& request) {
  const model::InstanceKey first{request.first, request.second, 0};
  auto it = context.avoided.lower_bound(first);
  while (it != context.avoided.end() && it->first.item == request.first &&
         it->first.subject == request.second) {
    context.avoided_alarms.set(it->first, std::nullopt);
    it = context.avoided.erase(it);
    context.dirty.plan = true;
  }
}

void moves_pass(Context& context) {
  forget_old_failures(context);
  release_the_returned(context);
  for (const model::InstanceKey& key : context.move_alarms.take_due(context.now)) {
    context.dirty.statuses.insert(key);
  }
  for (const model::InstanceKey& key : context.dirty.statuses) look_at(context, key);
}

}  // namespace berth::control
