#include "control/rollout/moves.h"

#include <fmt/format.h>

#include "control/context.h"
#include "control/rollout/handover.h"
#include "control/rollout/rollouts.h"

namespace berth::control {
namespace {

std::string problem_in_words(const model::Problem& problem) {
  return problem.message.empty() ? problem.reason
                                 : fmt::format("{}: {}", problem.reason, problem.message);
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

}  // namespace

Moves::Move* Moves::find(const model::InstanceRecord& record) {
  const auto move = moves_.find(record.key);
  const bool is_this = move != moves_.end() && move->second.target == record.place;
  return is_this ? &move->second : nullptr;
}

Moves::Move& Moves::begin(const Context& context, const model::InstanceRecord& record) {
  Move& move = moves_[record.key];
  move = {.target = *record.place,
          .trial = begin_trial(context, record, run_as_told(context, record))};
  return move;
}

Moves::Move& Moves::find_or_begin(const Context& context, const model::InstanceRecord& record) {
  Move* move = find(record);
  return move != nullptr ? *move : begin(context, record);
}

Judgement Moves::judge(Context& context, const model::InstanceRecord& record, Move& move) {
  const auto* status = run_as_told(context, record);
  if (status != nullptr && status->problem.hindrance == model::Hindrance::RuntimeNotReady) {
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

void Moves::avoid(const Context& context, const model::InstanceRecord& record) {
  Avoided& avoided = avoided_[record.key];
  if (avoided.version != record.version) avoided = {.version = record.version, .until = {}};
  const Time until = context.now + context.config.failed_move_retry;
  avoided.until.insert_or_assign(record.place->node, until);
  avoided_alarms_.set(record.key, avoided.until.begin()->second);
  for (const auto& [node, time] : avoided.until) {
    if (time < until) avoided_alarms_.set(record.key, time);
  }
}

void Moves::fail(Context& context, const model::InstanceRecord& record,
                 const model::Problem& problem) {
  avoid(context, record);
  const std::string why = fmt::format("it did not come up on {}: {}",
                                      model::to_string(*record.place), problem_in_words(problem));
  failed_.insert_or_assign(record.key, why);
  const model::Leaving& source = *record.leaving;
  if (source.empty) returning_.insert_or_assign(record.key, source.place.node);
  context.note(NoteKind::MoveFailed, record.key,
               fmt::format("{}; it {} {}", why, source.empty ? "goes back to" : "still serves on",
                           model::to_string(source.place)));
  context.launcher.plan_anew();
}

// A change of the version is judged by its rollout; and where nothing serves any more there is
// nothing to go back to.
bool Moves::can_be_given_up(const Context& context, const model::InstanceRecord& record) const {
  if (!can_go_back(context, record) || failed_.contains(record.key)) return false;
  const bool is_stopping = record.leaving->stop_first && !record.leaving->empty;
  return !is_stopping && record.leaving->version == record.version;
}

// Until when the only place that there is may fail. Not for long while nothing serves: where it has
// handed over, it goes back to as soon as it can. That it cannot has just been seen.
Time Moves::last_chance(const model::InstanceRecord& record, const Move& move) {
  const bool is_down = record.leaving && record.leaving->empty;
  return is_down ? move.go_back_at : move.trial.deadline;
}

bool Moves::must_come_up_here(const Context& context, const model::InstanceRecord& record,
                              const Move& move) {
  return move.is_last_resort && context.now < last_chance(record, move);
}

// One that has failed is looked at at once if it can be given up, else when it has another chance.
std::optional<Time> Moves::next_look_at(const Context& context, const model::InstanceRecord& record,
                                        const Move& move, const Judgement& judgement) const {
  if (judgement.progress != Progress::Failed) return next_look(move.trial);
  if (must_come_up_here(context, record, move)) return last_chance(record, move);
  if (can_be_given_up(context, record)) return context.now;
  return std::nullopt;
}

void Moves::look_at(Context& context, const model::InstanceKey& key) {
  const auto* record = context.state.find<model::InstanceRecord>(key);
  if (record == nullptr || !record->place || !can_be_given_up(context, *record)) return;
  Move* move = find(*record);
  if (move == nullptr) return;
  const Judgement judgement = judge(context, *record, *move);
  if (judgement.progress != Progress::Failed) return;
  if (must_come_up_here(context, *record, *move)) return;
  fail(context, *record, judgement.problem);
}

Judgement Moves::look_on(Context& context, const model::InstanceRecord& record) {
  Move& move = find_or_begin(context, record);
  Judgement judgement = judge(context, record, move);
  alarms_.set(record.key, next_look_at(context, record, move, judgement));
  return judgement;
}

void Moves::release_the_returned(Context& context) {
  std::erase_if(returning_, [&](const auto& entry) {
    if (!has_returned(context, entry.first, entry.second)) return false;
    context.launcher.plan_anew();
    return true;
  });
}

void Moves::forget_old_failures(Context& context) {
  for (const model::InstanceKey& key : avoided_alarms_.take_due(context.now)) {
    const auto avoided = avoided_.find(key);
    std::optional<Time> next;
    std::erase_if(avoided->second.until, [&](const auto& entry) {
      if (entry.second <= context.now) return true;
      take_earlier(next, entry.second);
      return false;
    });
    avoided_alarms_.set(key, next);
    if (!next) avoided_.erase(avoided);
    context.launcher.plan_anew();
  }
}

// Where neither copy comes up, that of the source is one too many once the target has had its time:
// else a node would never be rid of what fails everywhere.
bool Moves::has_had_its_time(Context& context, const model::InstanceRecord& record) {
  Move& move = find_or_begin(context, record);
  const Judgement judgement = judge(context, record, move);
  const bool is_over = context.now >= move.trial.deadline;
  if (!is_over) alarms_.set(record.key, move.trial.deadline);
  return is_over && judgement.progress == Progress::Failed;
}

// It could not go back for as long as it had to come up: it is where it failed.
bool Moves::is_stranded(const Context& context, const model::InstanceRecord& record,
                        const Judgement& judgement) {
  const Move* move = find(record);
  return move != nullptr && move->is_last_resort && record.leaving->empty &&
         judgement.progress == Progress::Failed && context.now >= move->trial.deadline;
}

void Moves::watch(Context& context, const model::InstanceRecord& record) {
  look_on(context, record);
}

bool Moves::has_arrived(Context& context, const model::InstanceRecord& record) {
  // What its rollout has judged is not judged twice, and does not come back.
  const bool is_judged = record.leaving->version != record.version && record.leaving->empty &&
                         !is_on_trial(context.state.durable(), record);
  // Where there is nothing to go back to, there is nothing to be careful with; what has done its
  // work has been there.
  if (is_judged || !can_go_back(context, record)) {
    const auto* status = run_at_its_place(context, record);
    if (status != nullptr && (model::is_up(status->state) || status->finished)) return true;
    return has_had_its_time(context, record);
  }
  // It comes back to where it has been running all the time.
  const bool is_there = is_active_at_its_place(context, record);
  if (is_there && find(record) == nullptr) return true;
  const Judgement judgement = look_on(context, record);
  return judgement.progress == Progress::Proven || is_stranded(context, record, judgement);
}

void Moves::end(const model::InstanceKey& key) {
  moves_.erase(key);
  alarms_.set(key, std::nullopt);
}

void Moves::set_deadline(const model::InstanceRecord& record, Time deadline) {
  Move* move = find(record);
  if (move == nullptr) return;
  move->trial.deadline = deadline;
  alarms_.set(record.key, next_look(move->trial));
}

bool Moves::has_failed(const Context& context, const model::InstanceRecord& record) const {
  return failed_.contains(record.key) && can_go_back(context, record);
}

const std::string* Moves::why_it_failed(const model::InstanceKey& key) const {
  const auto found = failed_.find(key);
  return found == failed_.end() ? nullptr : &found->second;
}

bool Moves::go_on(Context& context, const model::InstanceKey& key) {
  if (failed_.erase(key) == 0) return false;
  const auto* record = context.state.find<model::InstanceRecord>(key);
  if (record == nullptr || !can_go_back(context, *record)) return false;
  Move* known = find(*record);
  const bool is_down = record->leaving->empty;  // then its time goes on
  Move& move = known != nullptr && is_down ? *known : begin(context, *record);
  move.is_last_resort = true;
  move.go_back_at = context.now + context.config.go_back_retry;
  context.changes.instances.insert(key);
  return true;
}

bool Moves::avoid_nothing(const RequestKey& request) {
  bool any = false;
  auto it = avoided_.lower_bound({request.first, request.second, 0});
  while (it != avoided_.end() && it->first.item == request.first &&
         it->first.subject == request.second) {
    avoided_alarms_.set(it->first, std::nullopt);
    it = avoided_.erase(it);
    any = true;
  }
  return any;
}

bool Moves::avoid_nothing(const model::InstanceKey& key) {
  if (avoided_.erase(key) == 0) return false;
  avoided_alarms_.set(key, std::nullopt);
  return true;
}

bool Moves::is_returning_to(const model::InstanceKey& key, const model::NodeId& node) const {
  const auto returning = returning_.find(key);
  return returning != returning_.end() && returning->second == node;
}

Time Moves::next() const {
  return std::min(alarms_.next().value_or(kNever), avoided_alarms_.next().value_or(kNever));
}

void Moves::decide(Context& context) {
  forget_old_failures(context);
  release_the_returned(context);
  for (const model::InstanceKey& key : alarms_.take_due(context.now)) {
    context.changes.instances.insert(key);
  }
  for (const model::InstanceKey& key : context.changes.instances) look_at(context, key);
}

}  // namespace berth::control
