#include "agent/instance.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/fetched_image.h"
#include "agent/shared_use.h"
#include "base/alarms.h"
#include "base/check.h"

namespace berth::agent {
namespace {

std::string to_text(const RunId& run) {
  return std::to_string(run.generation.epoch) + "." + std::to_string(run.generation.number) + "." +
         std::to_string(run.attempt);
}

// Whether a found run is the wanted one: started for this generation, or, by a command that the
// agent has lost, with the same; or a component that was on the node before anybody asked for it
// and is what is now asked for.
bool is_the_wanted(const Run& run, const model::WantedRecord& wanted) {
  if (run.runtime != wanted.spec.runtime) return false;
  if (run.id.generation == wanted.generation) return true;
  if (run.started_with && model::runs_the_same(*run.started_with, wanted.spec)) return true;
  return run.type == model::ItemType::Component && run.id.generation == model::CommandNumber{} &&
         run.version == wanted.spec.item.version;
}

// A component that was there before anybody asked for it is not ours to stop. One that carries a
// generation was told to run once, in an earlier life of the agent perhaps, and is no longer.
bool is_left_alone(const Run& run) {
  return run.type == model::ItemType::Component && run.is_found() &&
         run.id.generation == model::CommandNumber{} && run.phase == Run::Phase::Running;
}

model::Problem being_fetched(const model::InstanceSpec& spec) {
  return {"Pulling", *fetched_image_of(spec) + " is being fetched", model::Hindrance::BeingFetched};
}

Duration start_timeout(const Config& config, model::ItemType type) {
  const bool is_installed = type == model::ItemType::Component;
  return is_installed ? config.component_start_timeout : config.action_timeout;
}

}  // namespace

// --- Facts -------------------------------------------------------------------------------------

void Instance::found(const Context& context, const model::RuntimeId& runtime,
                     const FoundRun& found) {
  Run* run = find(found.run);
  if (run == nullptr) {
    run = &runs_[found.run];
    run->id = found.run;
    run->runtime = runtime;
    run->type = found.type;
    run->version = found.version;
    run->started_with = found.spec;
    run->overdue = context.now + start_timeout(context.config, found.type);
  }
  // An id names one run: another runtime that lists it too is mistaken.
  if (run->runtime != runtime) return;
  run->confirmed = true;
  if (run->phase == Run::Phase::Starting && !found.starting) run->phase = Run::Phase::Running;
}

void Instance::listed(const Context& context, const model::RuntimeId& runtime,
                      const std::set<RunId>& listed) {
  std::vector<RunId> missing;
  for (const auto& [id, run] : runs_) {
    if (run.runtime != runtime || !run.confirmed || listed.contains(id)) continue;
    missing.push_back(id);
  }
  for (const RunId& id : missing) end(context, id, {.cause = Cause::Vanished});
}

void Instance::prepared(const Prepared& answer) {
  if (!preparation_.prepared(answer)) next_preparation_.prepared(answer);
}

void Instance::prepare_failed(const Context& context, const model::WantedRecord* wanted,
                              const PrepareFailed& answer) {
  if (wanted == nullptr) return;
  if (preparation_.failed(context, wanted->spec.item.restart, answer)) {
    note_preparing(context, preparation_);
  }
  if (!wanted->successor) return;
  if (next_preparation_.failed(context, wanted->successor->spec.item.restart, answer)) {
    note_preparing(context, next_preparation_);
  }
}

void Instance::note_preparing(const Context& context, const Preparation& preparation) const {
  context.note(key_, preparation.problem()->message);
}

void Instance::started(const Context& context, const RunId& id) {
  Run* run = find(id);
  if (run == nullptr) return;
  run->confirmed = true;
  if (run->phase != Run::Phase::Starting) return;
  run->phase = Run::Phase::Running;
  run->remark = {};
  context.note(key_, "started run " + to_text(id));
}

void Instance::start_failed(const Context& context, const RunId& id,
                            const model::Problem& problem) {
  if (find(id) == nullptr) return;
  end(context, id,
      {.cause = Cause::StartFailed,
       .reason = problem.reason,
       .detail = problem.message,
       .hindrance = problem.hindrance});
}

void Instance::exited(const Context& context, const Exited& event) {
  if (find(event.run) == nullptr) return;
  end(context, event.run,
      {.cause = Cause::Exited,
       .exit_code = event.exit_code,
       .reason = event.problem.reason,
       .detail = event.problem.message,
       .hindrance = event.problem.hindrance});
}

void Instance::check_begun(const Context& context, const CheckBegun& event) {
  Run* run = find(event.run);
  if (run != nullptr && run->health) run->health->begun(context.now);
}

void Instance::checked(const Context& context, const HealthChecked& answer) {
  Run* run = find(answer.run);
  if (run == nullptr || !run->health) return;
  run->health->answered(context.now, answer.healthy, answer.message);
  if (run->health->has_passed() && !run->active_since) run->active_since = context.now;
}

// One that stands still does so because it was active once, in an earlier life of the agent
// perhaps.
void Instance::pausing_set(const Context& context, const PausingSet& answer) {
  Run* run = find(answer.run);
  if (run == nullptr || run->phase != Run::Phase::Running) return;
  if (!run->standstill.answered(context.now, answer.order, answer.problem)) return;
  if (const auto& problem = run->standstill.problem()) {
    return context.note(key_, problem->reason + ": " + problem->message);
  }
  const bool is_paused = run->standstill.is_paused();
  if (is_paused && !run->active_since) run->active_since = context.now;
  context.note(key_, (is_paused ? "paused run " : "resumed run ") + to_text(answer.run));
}

void Instance::stop_withheld(const Context& context, const RunId& id) {
  Run* run = find(id);
  if (run == nullptr || run->phase != Run::Phase::Stopping) return;
  run->phase = run->confirmed ? Run::Phase::Running : Run::Phase::Starting;
  run->blamed_for.reset();
  run->overdue = context.now + start_timeout(context.config, run->type);
  context.note(key_, "run " + to_text(id) + " goes on: what replaces it cannot be written down");
}

void Instance::remarked(const Context& context, const Remarked& event) {
  Run* run = find(event.run);
  if (run == nullptr) return;
  const bool is_news = run->remark.reason != event.remark.reason && !event.remark.reason.empty();
  run->remark = event.remark;
  if (is_news) context.note(key_, event.remark.reason + ": " + event.remark.message);
}

// Also of a run that is not known its number is: an earlier life of the agent has used it.
Run* Instance::find(const RunId& id) {
  if (id.generation == generation_) next_attempt_ = std::max(next_attempt_, id.attempt + 1);
  const auto found = runs_.find(id);
  return found == runs_.end() ? nullptr : &found->second;
}

void Instance::end(const Context& context, const RunId& id, Ending ending) {
  const Run run = std::move(runs_.extract(id).mapped());
  const bool just_stopped = run.phase == Run::Phase::Stopping && !run.blamed_for;
  // One that is found and gone before it could be adopted.
  const bool was_the_wanted = id.generation == generation_ && runs_.empty();
  if (run.blamed_for) {
    ending.cause = *run.blamed_for;
    ending.reason.clear();
    ending.hindrance = model::Hindrance::None;
    ending.detail = run.health ? run.health->message() : "";
    // Leaving politely when told to is no success.
    if (ending.exit_code == 0) ending.exit_code.reset();
  }
  context.note(key_, just_stopped ? "stopped run " + to_text(id)
                                  : "run " + to_text(id) + ": " + problem_of(ending).message);
  if (just_stopped || (run.is_found() && !was_the_wanted)) return;
  ending.generation = run.is_found() ? id.generation : run.serves;
  ending.active_since = run.active_since;
  ending_ = std::move(ending);
}

// --- Decisions ---------------------------------------------------------------------------------

void Instance::advance(const Context& context, const model::WantedRecord* wanted, Unwanted unwanted,
                       GoesOnFrom from) {
  if (wanted != nullptr) {
    if (wanted->generation != generation_) begin(*wanted);
    adopt(context, *wanted, from);
  }
  if (unwanted == Unwanted::Stopped) stop_unwanted(context, wanted);
  advance_preparing(context, wanted);
  for (auto& [id, run] : runs_) do_overdue(context, wanted, run);
}

void Instance::begin(const model::WantedRecord& wanted) {
  generation_ = wanted.generation;
  next_attempt_ = 0;
  // It may be one that has been before.
  for (const auto& [id, run] : runs_) find(id);
  if (next_preparation_.generation() == generation_) preparation_ = next_preparation_;
  preparation_.begin(generation_);
  backoff_ = {};
  restarts_ = 0;
  restart_at_.reset();
  problem_.reset();
  refusal_.reset();
  complaint_.reset();
  exit_code_ = wanted.exit_code;
}

void Instance::adopt(const Context& context, const model::WantedRecord& wanted, GoesOnFrom from) {
  for (auto at = runs_.rbegin(); at != runs_.rend(); ++at) {  // of several, the newest
    Run& run = at->second;
    if (wanted.finished || run.phase == Run::Phase::Stopping || !run.is_found()) continue;
    if (current(wanted) != nullptr || !is_the_wanted(run, wanted)) continue;
    if (from == GoesOnFrom::HandedState && run.id.generation < wanted.generation) continue;
    run.serves = wanted.generation;
    run.holds = taken_by(wanted.spec);
    run.started_with.reset();
    run.standstill.doubt();
    preparation_.cancel();
    restart_at_.reset();
    problem_.reset();
    refusal_.reset();
    if (wanted.spec.item.health && run.phase == Run::Phase::Running) {
      run.health.emplace(*wanted.spec.item.health, context.now, Health::First::MayBeSlow);
    }
    context.note(key_, "adopted run " + to_text(run.id));
  }
}

void Instance::stop_unwanted(const Context& context, const model::WantedRecord* wanted) {
  for (auto& [id, run] : runs_) {
    const bool is_wanted =
        wanted != nullptr ? run.serves == wanted->generation : is_left_alone(run);
    if (is_wanted) continue;
    if (run.phase != Run::Phase::Stopping) stop(context, run, std::nullopt);
    run.blamed_for.reset();
  }
}

bool Instance::must_prepare(const model::WantedRecord& wanted) const {
  return !wanted.finished && !preparation_.is_done() && fetched_image_of(wanted.spec) != nullptr;
}

void Instance::advance_preparing(const Context& context, const model::WantedRecord* wanted) {
  is_outdated_ = wanted != nullptr && wanted->successor;
  if (wanted == nullptr) return preparation_.cancel();
  if (preparation_.give_up(context, wanted->spec.item.restart)) {
    note_preparing(context, preparation_);
  }
  if (!is_outdated_) return;
  next_preparation_.begin(wanted->successor->generation);
  if (next_preparation_.give_up(context, wanted->successor->spec.item.restart)) {
    note_preparing(context, next_preparation_);
  }
}

void Instance::stop(const Context& context, Run& run, std::optional<Cause> blamed_for) {
  run.phase = Run::Phase::Stopping;
  run.blamed_for = blamed_for;
  const Duration grace = context.config.stop_grace;
  run.overdue = context.now + grace + context.config.action_timeout;
  context.act(Stop{.key = key_, .runtime = run.runtime, .run = run.id, .grace = grace});
}

void Instance::do_overdue(const Context& context, const model::WantedRecord* wanted, Run& run) {
  switch (run.phase) {
    case Run::Phase::Starting:
      if (context.now < run.overdue) return;
      context.note(key_, "start of run " + to_text(run.id) + " was not answered");
      return stop(context, run, Cause::Unanswered);
    case Run::Phase::Stopping:
      if (context.now < run.overdue) return;
      context.note(key_, "stop of run " + to_text(run.id) + " was not answered");
      return stop(context, run, run.blamed_for);
    case Run::Phase::Running:
      if (wanted != nullptr && run.serves == wanted->generation) watch(context, *wanted, run);
  }
}

// One that is found may stand still: before that is known, nothing else can be asked of it. One
// that has just become active may have to be paused at once.
void Instance::watch(const Context& context, const model::WantedRecord& wanted, Run& run) {
  if (run.standstill.is_in_doubt()) pause_or_resume(context, wanted, run);
  if (!run.standstill.may_be_paused()) watch_health(context, wanted, run);
  if (run.phase == Run::Phase::Running && run.active_since) pause_or_resume(context, wanted, run);
}

// A check that is under way is waited for: its answer would be about one that stands still.
void Instance::pause_or_resume(const Context& context, const model::WantedRecord& wanted,
                               Run& run) {
  if (run.type == model::ItemType::Component) return;
  const auto pausing = wanted.spec.paused ? model::Pausing::Paused : model::Pausing::Running;
  const bool is_being_checked = run.health && run.health->is_waiting(context.now);
  if (pausing == model::Pausing::Paused && is_being_checked) return;
  const auto order = run.standstill.ask(context.now, pausing, context.config.action_timeout);
  if (!order) return;
  if (pausing == model::Pausing::Paused) run.health.reset();  // begun anew when it goes on
  context.act(SetPausing{key_, run.runtime, run.id, pausing, *order});
}

void Instance::watch_health(const Context& context, const model::WantedRecord& wanted, Run& run) {
  const auto& health = wanted.spec.item.health;
  if (!health) {
    run.health.reset();
    if (!run.active_since) run.active_since = context.now;
    return;
  }
  // Other checks than before begin when the last of those is answered.
  const bool is_outdated =
      run.health && !run.health->follows(*health) && !run.health->is_waiting(context.now);
  if (!run.health || is_outdated) {
    const bool was_active = run.active_since.has_value();  // before it was paused, or edited
    run.health.emplace(*health, context.now,
                       was_active ? Health::First::MayBeSlow : Health::First::Counts);
  }
  check(context, wanted, run);
}

void Instance::check(const Context& context, const model::WantedRecord& wanted, Run& run) {
  if (run.health->ask(context.now)) context.act(CheckHealth{wanted.spec, run.id});
  if (!run.health->has_failed()) return;
  context.note(key_, "unhealthy: " + run.health->message());
  stop(context, run, Cause::Unhealthy);
}

std::optional<Ending> Instance::take_ending() { return std::exchange(ending_, std::nullopt); }

void Instance::finish(const Context& context, const Ending& ending) {
  exit_code_ = ending.exit_code;
  problem_ = problem_of(ending);
  context.note(key_, "finished");
}

void Instance::back_off(const Context& context, const model::RestartPolicy& policy,
                        const Ending& ending) {
  const Duration wait = backoff_.next_wait(policy, ending.active_since, context.now);
  restart_at_ = context.now + wait;
  if (ending.exit_code) exit_code_ = ending.exit_code;
  problem_ = problem_of(ending);
  problem_->message += "; next try in " + agent::to_text(wait);
}

bool Instance::wants_preparing(Time now, const model::WantedRecord* wanted) const {
  return wanted != nullptr && must_prepare(*wanted) && current(*wanted) == nullptr &&
         preparation_.may_be_asked(now) && (!restart_at_ || *restart_at_ <= now);
}

void Instance::prepare(const Context& context, const model::WantedRecord& wanted) {
  problem_.reset();
  refusal_.reset();
  preparation_.ask(context, wanted.spec);
}

Preparation* Instance::wants_successor(Time now, const model::WantedRecord* wanted) {
  const bool is_to_come = wanted != nullptr && wanted->successor &&
                          fetched_image_of(wanted->successor->spec) != nullptr;
  return is_to_come && next_preparation_.may_be_asked(now) ? &next_preparation_ : nullptr;
}

bool Instance::is_successor_there(const model::WantedRecord* wanted) const {
  if (wanted == nullptr || !wanted->successor) return false;
  if (fetched_image_of(wanted->successor->spec) == nullptr) return true;
  return next_preparation_.generation() == wanted->successor->generation &&
         next_preparation_.is_done();
}

bool Instance::is_prepared(const model::WantedRecord* wanted) const {
  return wanted != nullptr && wanted->spec.prepare_only && !must_prepare(*wanted);
}

bool Instance::wants_start(Time now, const model::WantedRecord* wanted) const {
  return wanted != nullptr && !wanted->finished && !wanted->spec.prepare_only && runs_.empty() &&
         !must_prepare(*wanted) && (!restart_at_ || *restart_at_ <= now);
}

void Instance::start(const Context& context, const model::WantedRecord& wanted,
                     const model::SavedState* state) {
  CHECK(runs_.empty(), "a second run of an instance");
  if (restart_at_) ++restarts_;
  restart_at_.reset();
  problem_.reset();
  refusal_.reset();
  const RunId id{wanted.generation, next_attempt_++};
  Run& run = runs_[id];
  run.id = id;
  run.runtime = wanted.spec.runtime;
  run.type = wanted.spec.item.type;
  run.version = wanted.spec.item.version;
  run.serves = wanted.generation;
  run.holds = taken_by(wanted.spec);
  run.overdue = context.now + start_timeout(context.config, run.type);
  context.act(Start{wanted.spec, id, state != nullptr ? std::optional(*state) : std::nullopt});
}

void Instance::refuse(const Context& context, std::optional<model::Problem> refusal) {
  if (refusal == refusal_) return;
  refusal_ = std::move(refusal);
  if (refusal_) context.note(key_, "start refused: " + refusal_->message);
}

bool Instance::complain(std::optional<model::Problem> complaint) {
  if (complaint == complaint_) return false;
  complaint_ = std::move(complaint);
  return true;
}

// --- Questions ---------------------------------------------------------------------------------

const Run* Instance::current(const model::WantedRecord& wanted) const {
  for (const auto& [id, run] : runs_) {
    if (run.serves == wanted.generation) return &run;
  }
  return nullptr;
}

bool Instance::has_begun(const model::WantedRecord& wanted) const {
  const Run* run = current(wanted);
  return run != nullptr && run->confirmed;
}

bool Instance::is_leftover() const {
  return std::any_of(runs_.begin(), runs_.end(), [](const auto& entry) {
    return entry.second.is_found() && entry.second.phase == Run::Phase::Stopping;
  });
}

std::set<std::string> Instance::resources_of(Which which) const {
  std::set<std::string> held;
  for (const auto& [id, run] : runs_) {
    const bool is_leaving =
        is_outdated_ || run.phase == Run::Phase::Stopping || run.serves != generation_;
    if (which == Which::Leaving && !is_leaving) continue;
    held.insert(run.holds.begin(), run.holds.end());
  }
  return held;
}

std::optional<model::ReportedStatus> Instance::status(const model::WantedRecord* wanted) const {
  if (wanted != nullptr) {
    return wanted->successor ? status_of_successor(*wanted) : status_of_wanted(*wanted);
  }
  if (runs_.empty()) return std::nullopt;
  return status_of_unwanted();
}

model::ReportedStatus Instance::status_of_wanted(const model::WantedRecord& wanted) const {
  model::ReportedStatus status;
  status.key = key_;
  status.type = wanted.spec.item.type;
  status.version = wanted.spec.item.version;
  status.runtime = wanted.spec.runtime;
  status.exit_code = exit_code_;
  status.restarts = restarts_;
  status.finished = wanted.finished;
  status.prepare_only = wanted.spec.prepare_only;
  const auto failed = [&status](model::Problem problem) {
    status.state = model::InstanceState::Failed;
    status.problem = std::move(problem);
  };
  const Ending last{.cause = Cause::Exited, .exit_code = wanted.exit_code};
  if (const Run* run = current(wanted)) {
    if (run->blamed_for) {
      failed(problem_of({.cause = *run->blamed_for,
                         .detail = run->health ? run->health->message() : std::string()}));
    } else {
      status.problem = run->remark;
      if (!run->active_since) return status;
      status.state =
          run->standstill.is_paused() ? model::InstanceState::Paused : model::InstanceState::Active;
      if (complaint_) status.problem = *complaint_;
      if (run->standstill.problem()) status.problem = *run->standstill.problem();
    }
  } else if (wanted.finished && is_success(last)) {
    status.state = model::InstanceState::Inactive;
  } else if (wanted.finished) {
    failed(problem_.value_or(problem_of(last)));
  } else if (refusal_) {
    failed(*refusal_);
  } else if (problem_) {
    failed(*problem_);
  } else if (preparation_.problem()) {
    failed(*preparation_.problem());
  } else if (preparation_.is_under_way() || (status.prepare_only && must_prepare(wanted))) {
    status.problem = being_fetched(wanted.spec);
  }
  return status;
}

model::ReportedStatus Instance::status_of_successor(const model::WantedRecord& wanted) const {
  const model::InstanceSpec& spec = wanted.successor->spec;
  model::ReportedStatus status;
  status.key = key_;
  status.type = spec.item.type;
  status.version = spec.item.version;
  status.runtime = spec.runtime;
  if (next_preparation_.problem()) {
    status.state = model::InstanceState::Failed;
    status.problem = *next_preparation_.problem();
  } else if (is_successor_there(&wanted)) {
    status.problem = {"StoreNotWritable", "its node cannot write down what it is told",
                      model::Hindrance::StoreNotWritable};
  } else {
    status.problem = being_fetched(spec);
  }
  status.problem.message += "; " + present_in_words(wanted);
  return status;
}

std::string Instance::present_in_words(const model::WantedRecord& wanted) const {
  const std::string version = "version " + wanted.spec.item.version;
  const model::ReportedStatus status = status_of_wanted(wanted);
  if (status.state != model::InstanceState::Failed) return version + " runs on until it is there";
  return version + " does not run: " + status.problem.message;
}

model::ReportedStatus Instance::status_of_unwanted() const {
  const Run& run = runs_.begin()->second;
  model::ReportedStatus status;
  status.key = key_;
  status.type = run.type;
  status.version = run.version;
  status.runtime = run.runtime;
  if (run.confirmed) status.state = model::InstanceState::Active;
  status.stopping = run.phase == Run::Phase::Stopping;
  status.problem = run.remark;
  return status;
}

std::optional<Time> Instance::due(Time now) const {
  std::optional<Time> earliest;
  for (const auto& [id, run] : runs_) {
    if (run.phase != Run::Phase::Running) take_earlier(earliest, run.overdue);
    if (run.phase != Run::Phase::Running) continue;
    if (run.health) take_earlier(earliest, run.health->due());
    // Past its time it waits for the answer of a check.
    const auto order_due = run.standstill.due();
    if (order_due && *order_due > now) take_earlier(earliest, order_due);
  }
  take_earlier(earliest, preparation_.due(now));
  if (is_outdated_) take_earlier(earliest, next_preparation_.due(now));
  // Past its time it waits for a runtime or for the end of another run, which wake it.
  if (restart_at_ && *restart_at_ > now) take_earlier(earliest, restart_at_);
  return earliest;
}

}  // namespace berth::agent
