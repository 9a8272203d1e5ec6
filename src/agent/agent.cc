#include "agent/agent.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <variant>

namespace berth::agent {
namespace {

// Else the node would be taken for silent.
constexpr Duration kRuntimesTellWithin = 3s;

std::string to_text(const model::CommandNumber& number) {
  return std::to_string(number.epoch) + "." + std::to_string(number.number);
}

// What an instance has on disk beyond its quota, where the file system does not stop it itself.
std::optional<model::Problem> complaint_about(const model::Item& item,
                                              const model::Footprint& footprint) {
  const auto exceeds = [](Bytes used, const std::optional<Bytes>& quota) {
    return quota && used > *quota;
  };
  const auto words = [](Bytes used, Bytes quota) {
    return std::to_string(used.count()) + " bytes are used, " + std::to_string(quota.count()) +
           " are allowed";
  };
  const bool is_limited = !item.skip_resource_limits;
  if (is_limited && exceeds(footprint.storage, item.quotas.storage)) {
    return model::Problem{"StorageExceeded", words(footprint.storage, *item.quotas.storage)};
  }
  const std::string stays = "; it will not go along when it moves";
  if (is_limited && exceeds(footprint.state, item.quotas.state)) {
    return model::Problem{"StateTooLarge", words(footprint.state, *item.quotas.state) + stays};
  }
  if (footprint.state > model::SavedState::kSizeMax) {
    return model::Problem{"StateTooLarge",
                          words(footprint.state, model::SavedState::kSizeMax) + stays};
  }
  return std::nullopt;
}

bool is_too_large(const StateSaved& saved, const model::WantedRecord* wanted) {
  if (saved.digest.empty()) return true;
  return wanted != nullptr && wanted->spec.item.quotas.state &&
         saved.size > *wanted->spec.item.quotas.state;
}

// What holds something that its successor does not ask for is not started again: another may have
// been promised it.
bool lets_go_of_something(const model::WantedRecord& wanted) {
  return wanted.successor &&
         !std::ranges::includes(taken_by(wanted.successor->spec.item), taken_by(wanted.spec.item));
}

}  // namespace

Agent::Agent(Config config, Restored restored)
    : config_(std::move(config)),
      doubt_(restored),
      states_(restored),
      wanted_(restored),
      erasures_(restored.erasing),
      was_here_before_(wanted_.acted() != model::CommandNumber{} || doubt_.is_there()) {
  for (const auto& [key, record] : wanted_.records()) {
    touch(key).begin(record);
    if (fetched_image_of(record.spec) != nullptr) images_.found();
  }
  for (const model::InstanceKey& key : restored.erasing) touch(key);
}

Effects Agent::step(Time now, std::span<const Event> batch) {
  Effects effects;
  const Context context{now, config_, effects};
  const bool was_awaited = runtimes_.is_awaited();
  wanted_.begin_step();
  apply_network(context);  // of an earlier life
  if (doubt_.look(context)) touch_all_waiting();
  for (const Event& event : batch) {
    std::visit([&](const auto& fact) { record(context, fact); }, event);
  }
  const bool given_up = runtimes_.ask_again(context);
  if (given_up || (was_awaited && !runtimes_.is_awaited())) {
    touch_all_waiting();
    pool_.look_at_waiting();
  }
  apply_network(context);  // of a command that has come
  for (const model::InstanceKey& key : alarms_.take_due(now)) touched_.insert(key);
  for (const model::InstanceKey& key : erasures_.take_due(now)) touch(key);
  while (!touched_.empty()) {
    const auto keys = take_touched_in_scheduling_order();
    // All stops before the first start: who waits for whom must be known by then.
    for (const model::InstanceKey& key : keys) advance(context, key);
    for (const model::InstanceKey& key : keys) decide(context, key);
  }
  if (images_.take_due(now) && !doubt_.is_there()) {
    context.act(TidyImages{ImageCare::wanted_images(wanted_)});
  }
  pool_.decide(context, runtimes_);
  if (can_tell_all(now)) {
    if (auto report = reporter_.report(context, wanted_, states_, pool_)) {
      report->in_doubt = report->full && doubt_.is_there();
      if (report->full) report->untold_runtimes.assign(untold_.begin(), untold_.end());
      effects.reports.push_back(std::move(*report));
    }
  }
  effects.wake_at = wake_at();
  return effects;
}

// --- Facts -------------------------------------------------------------------------------------

void Agent::record(const Context& context, const Connected& event) {
  reporter_.connected(event.connection);
  pool_.connected();
  states_.connected(context.now);
}

void Agent::record(const Context&, const Disconnected& event) {
  reporter_.disconnected(event.connection);
}

void Agent::record(const Context& context, const CommandReceived& event) {
  const model::Command& command = event.command;
  const std::string why_not = objection(command);
  if (why_not.empty()) {
    carry_out(context, command);
  } else {
    context.note("command " + to_text(command.number) + " ignored: " + why_not);
  }
  // What has been heard has been, whatever becomes of the command.
  for (const model::SavedState& state : command.states) {
    if (!state.content.empty()) continue;
    states_.heard(state.key, state.digest, context.effects.writes);
  }
  // Asking for a full report changes nothing, so also an ignored command gets one.
  if (command.report_told) reporter_.answer_with_orders();
  const bool is_full = why_not.empty() && !command.base;
  is_full || command.report_fully ? reporter_.answer_fully() : reporter_.answer();
}

void Agent::carry_out(const Context& context, const model::Command& command) {
  const bool was_in_doubt = doubt_.is_there();
  if (was_in_doubt) {
    for (const model::InstanceKey& key : erasures_.forget_all_but(context, command)) touch(key);
    forget_what_is_kept_but_gone(context, command);
    doubt_.end(context);
    touch_all();
  }
  const auto replaces = can_write() ? Wanted::Replaces::AtOnce : Wanted::Replaces::WhenDurable;
  const auto changed = wanted_.carry_out(command, replaces, context.effects.writes);
  for (const model::InstanceKey& key : changed) touch(key);
  images_.changed(context.now);
  must_apply_network_ |= command.network.has_value();
  take_states(context, command, was_in_doubt ? Before::InDoubt : Before::Known);
  for (const model::InstanceKey& key : erasures_.take(context, command)) touch(key);
  record_early_states(context);
  context.note("command " + to_text(command.number) + " carried out, " +
               std::to_string(changed.size()) + " instances changed");
}

// To be kept means to go on until there is room for what replaces it. An older store knows only
// what an instance was once to be: that is not started, and the control plane hears that it is not
// there.
void Agent::forget_what_is_kept_but_gone(const Context& context, const model::Command& command) {
  if (runtimes_.is_awaited()) return;  // it may be there yet
  for (const model::InstanceKey& key : command.keep) {
    const auto found = instances_.find(key);
    if (found != instances_.end() && found->second.is_running()) continue;
    const model::WantedRecord* wanted = wanted_.find(key);
    if (wanted == nullptr || wanted->finished) continue;
    wanted_.erase(key, context.effects.writes);
    touch(key);
  }
}

// Only what begins anew here goes on from what another node has left: one that runs knows better.
// What an older store wanted already begins anew too.
void Agent::take_states(const Context& context, const model::Command& command, Before before) {
  for (const model::SavedState& state : command.states) {
    const model::WantedRecord* wanted = wanted_.find(state.key);
    if (wanted == nullptr || state.content.empty()) continue;
    const auto known = instances_.find(state.key);
    const bool runs = known != instances_.end() && known->second.is_running();
    const bool begins =
        wanted->generation == command.number || (before == Before::InDoubt && !runs);
    if (begins) states_.hand(state, context.effects.writes);
  }
}

std::string Agent::objection(const model::Command& command) const {
  if (command.number <= wanted_.acted()) return "not newer than " + to_text(wanted_.acted());
  if (command.base && doubt_.is_there()) return "what it builds on is lost";
  if (command.base && *command.base != wanted_.acted()) {
    return "based on " + to_text(*command.base) + ", not on " + to_text(wanted_.acted());
  }
  const std::size_t max = config_.instances_max;
  std::size_t present = instances_.size();
  for (const model::InstanceSpec& spec : command.run) present += !instances_.contains(spec.key);
  // What is still stopping counts too, but must not keep the last of a full node from changing.
  if (wanted_.size_after(command) > max || present > 2 * max) {
    return "more than " + std::to_string(max) + " instances";
  }
  return "";
}

// Again after a restart, for nobody knows what has become of them meanwhile.
void Agent::apply_network(const Context& context) {
  if (!must_apply_network_ || (doubt_.is_there() && !may_apply_network_in_doubt())) return;
  must_apply_network_ = false;
  if (!wanted_.network()) return;
  context.effects.actions.push_back(ApplyNetwork{*wanted_.network()});
  touch_all_waiting();
}

// What runs keeps the networks that it has: those of an older store may not be among them. Only
// what is started needs them to be made anew, and nothing is while a control plane may still speak.
bool Agent::may_apply_network_in_doubt() const {
  if (doubt_.delays_starts() || runtimes_.is_awaited()) return false;
  return std::ranges::all_of(instances_, [&](const auto& entry) {
    const model::WantedRecord* wanted = wanted_.find(entry.first);
    return !entry.second.is_running() || wanted == nullptr ||
           wanted_.knows_network_of(wanted->spec);
  });
}

void Agent::record(const Context& context, const NodeObserved& event) {
  reporter_.observed(context.now, event.info);
  shared_.observe(event.info);
  for (const model::RuntimeId& runtime : runtimes_.observe(context, event.info)) {
    pool_.look_at_waiting();
    touch_waiting_for(runtime);
    if (!runtimes_.not_told().contains(runtime)) has_told_late(runtime);  // it is no longer known
  }
}

void Agent::record(const Context& context, const RuntimeLeft& event) {
  runtimes_.leave(context, event.runtime);
}

// Nothing is started before what it was told by is durable: the store is an older one.
bool Agent::is_newer_than_known(const std::vector<FoundRun>& runs) const {
  return std::ranges::any_of(runs, [&](const FoundRun& run) {
    return !model::is_pool_instance(run.key) && run.run.generation > wanted_.acted();
  });
}

void Agent::hand_to_pool(const Context& context, const RunsListed& event) {
  std::set<model::InstanceKey> listed;
  for (const FoundRun& run : event.runs) {
    if (!model::is_pool_instance(run.key)) continue;
    listed.insert(run.key);
    pool_.found(context, event.runtime, run);
  }
  pool_.listed(context, event.runtime, listed);
  pool_.look_at_waiting();
}

// What the controller believes to be there because nobody could say otherwise is set right.
void Agent::has_told_late(const model::RuntimeId& runtime) {
  if (untold_.erase(runtime) > 0) reporter_.answer_fully();
}

void Agent::record(const Context& context, const RunsListed& event) {
  if (!runtimes_.listed(event.runtime)) return;
  has_told_late(event.runtime);
  hand_to_pool(context, event);
  std::map<model::InstanceKey, std::set<RunId>> listed;
  for (const FoundRun& run : event.runs) listed[run.key].insert(run.run);
  for (auto& [key, instance] : instances_) {
    if (!instance.is_running()) continue;
    touched_.insert(key);
    instance.listed(context, event.runtime, listed[key]);
  }
  if (is_newer_than_known(event.runs)) doubt_.arise(context);
  for (const FoundRun& run : event.runs) {
    if (model::is_pool_instance(run.key)) continue;
    if (doubt_.is_there()) wanted_.learn(run, context.effects.writes);
    touch(run.key).found(context, event.runtime, run);
    if (const auto early = early_states_.extract(run.key)) record(context, early.mapped());
  }
  touch_waiting_for(event.runtime);
}

void Agent::record(const Context& context, const Prepared& event) {
  if (model::is_pool_instance(event.key)) return pool_.record(context, event);
  images_.fetched(context.now);
  if (Instance* known = touch_known(event.key)) known->prepared(event);
}

void Agent::record(const Context& context, const PrepareFailed& event) {
  if (model::is_pool_instance(event.key)) return pool_.record(context, event);
  images_.failed();
  if (Instance* known = touch_known(event.key)) {
    known->prepare_failed(context, wanted_.find(event.key), event);
  }
}

void Agent::record(const Context& context, const Started& event) {
  if (model::is_pool_instance(event.key)) return pool_.record(context, event);
  Instance* known = touch_known(event.key);
  if (known == nullptr) return;
  known->started(context, event.run);
  drop_taken_state(context, event.key, *known);
}

// At once: what the run says of its state in this very step counts.
void Agent::drop_taken_state(const Context& context, const model::InstanceKey& key,
                             const Instance& instance) {
  const model::WantedRecord* wanted = wanted_.find(key);
  if (wanted == nullptr || instance.has_begun(*wanted)) {
    states_.drop_handed(key, context.effects.writes);
  }
}

void Agent::record(const Context& context, const StartFailed& event) {
  if (model::is_pool_instance(event.key)) return pool_.record(context, event);
  if (Instance* known = touch_known(event.key)) {
    known->start_failed(context, event.run, event.problem);
  }
}

// The command says whose they are; what it does not name may be of something that was erased.
void Agent::record_early_states(const Context& context) {
  for (const auto& [key, saved] : std::exchange(early_states_, {})) {
    if (wanted_.find(key) != nullptr) record(context, saved);
  }
}

// In doubt nobody could tell of which instance it is, one that runs or one that was erased, before
// the runtimes have said what they run.
void Agent::record(const Context& context, const StateSaved& event) {
  if (model::is_pool_instance(event.key)) return;
  if (doubt_.is_there() && !instances_.contains(event.key)) {
    early_states_.insert_or_assign(event.key, event);
    return;
  }
  if (!is_too_large(event, wanted_.find(event.key))) {
    states_.save(context, event);
    return;
  }
  const StateSaved too_large{.key = event.key,
                             .size = event.size,
                             .digest = model::SavedState::kTooLarge,
                             .content = {},
                             .order = event.order,
                             .goes_on_from = event.goes_on_from};
  if (!states_.save(context, too_large)) return;
  std::string what = std::to_string(event.size.count());
  what += " bytes of state are too large to go with it";
  context.note(event.key, std::move(what));
}

void Agent::record(const Context& context, const Exited& event) {
  if (model::is_pool_instance(event.key)) return pool_.record(context, event);
  if (event.state) record(context, *event.state);
  if (Instance* known = touch_known(event.key)) {
    known->exited(context, event);
  }
}

void Agent::record(const Context& context, const CheckBegun& event) {
  if (Instance* known = touch_known(event.key)) known->check_begun(context, event);
}

void Agent::record(const Context& context, const HealthChecked& event) {
  if (Instance* known = touch_known(event.key)) known->checked(context, event);
}

void Agent::record(const Context& context, const PausingSet& event) {
  if (model::is_pool_instance(event.key)) return pool_.record(context, event);
  if (Instance* known = touch_known(event.key)) known->pausing_set(context, event);
}

void Agent::record(const Context& context, const Remarked& event) {
  if (Instance* known = touch_known(event.key)) known->remarked(context, event);
}

void Agent::record(const Context&, const Measured& event) {
  pool_.record(event);
  reporter_.measured(event);
  for (const auto& [key, footprint] : event.footprints) complain_of(key, footprint);
}

void Agent::complain_of(const model::InstanceKey& key, const model::Footprint& footprint) {
  const auto found = instances_.find(key);
  const model::WantedRecord* wanted = wanted_.find(key);
  if (found == instances_.end() || wanted == nullptr) return;
  if (found->second.complain(complaint_about(wanted->spec.item, footprint))) touched_.insert(key);
}

void Agent::record(const Context& context, const DataErased& event) {
  erasures_.answered(context, event);
  touch(event.key);
}

void Agent::record(const Context& context, const StoreObserved& event) {
  if (event.problem == store_problem_) return;
  if (can_write()) wanted_.put_back(context.effects.writes);
  store_problem_ = event.problem;
  reporter_.observed_store(context.now, event.problem);
  touch_all();
}

void Agent::record(const Context& context, const StopWithheld& event) {
  if (Instance* known = touch_known(event.key)) known->stop_withheld(context, event.run);
}

// --- What to look at ---------------------------------------------------------------------------

Instance& Agent::touch(const model::InstanceKey& key) {
  touched_.insert(key);
  return instances_.try_emplace(key, key).first->second;
}

Instance* Agent::touch_known(const model::InstanceKey& key) {
  const auto found = instances_.find(key);
  if (found == instances_.end()) return nullptr;
  touched_.insert(key);
  return &found->second;
}

void Agent::touch_waiting_for(const model::RuntimeId& runtime) {
  for (const model::InstanceKey& key : waiting_.for_runtime(runtime)) touched_.insert(key);
}

void Agent::touch_all_waiting() {
  for (const auto& [key, runtime] : waiting_.all()) touched_.insert(key);
}

void Agent::touch_all() {
  for (const auto& [key, instance] : instances_) touched_.insert(key);
}

// What shall not run comes first, for the room it leaves.
std::vector<model::InstanceKey> Agent::take_touched_in_scheduling_order() {
  std::vector<std::tuple<bool, std::int64_t, model::InstanceKey>> order;
  for (const model::InstanceKey& key : std::exchange(touched_, {})) {
    const model::WantedRecord* wanted = wanted_.find(key);
    // ~ turns the order around, and has an answer for every number.
    order.emplace_back(wanted != nullptr, wanted != nullptr ? ~wanted->spec.priority : 0, key);
  }
  std::sort(order.begin(), order.end());
  std::vector<model::InstanceKey> keys;
  for (auto& [is_wanted, priority, key] : order) keys.push_back(std::move(key));
  return keys;
}

// --- Decisions ---------------------------------------------------------------------------------

void Agent::advance(const Context& context, const model::InstanceKey& key) {
  const auto found = instances_.find(key);
  if (found == instances_.end()) return;
  if (can_write() && found->second.is_successor_there(wanted_.find(key))) {
    wanted_.promote(key, context.effects.writes);
  }
  const auto unwanted = doubt_.is_there() ? Instance::Unwanted::Kept : Instance::Unwanted::Stopped;
  const auto from = states_.handed(key) == nullptr ? Instance::GoesOnFrom::WhatIsThere
                                                   : Instance::GoesOnFrom::HandedState;
  found->second.advance(context, wanted_.find(key), unwanted, from);
  watch_leftover(key, found->second.is_leftover());
  watch_shared(key, found->second);
}

void Agent::decide(const Context& context, const model::InstanceKey& key) {
  const auto found = instances_.find(key);
  if (found == instances_.end()) return;
  Instance& instance = found->second;
  const model::WantedRecord* wanted = wanted_.find(key);

  settle(context, key, instance);
  drop_taken_state(context, key, instance);
  waiting_.forget(key);
  const bool may_start = !erasures_.is_busy(key);
  if (may_start && instance.wants_preparing(context.now, wanted)) {
    try_prepare(context, key, instance);
  } else if (may_start && instance.wants_start(context.now, wanted)) {
    try_start(context, key, instance);
  } else if (instance.is_prepared(wanted)) {
    look_at_prepared(context, *wanted, instance);
  }
  if (Preparation* preparation = instance.wants_successor(context.now, wanted)) {
    try_prepare(context, *wanted->successor, *preparation);
  }

  watch_shared(key, instance);

  auto status = instance.status(wanted);
  if (!doubt_.is_there()) erasures_.go_on(context, key, status.has_value());
  if (!status && erasures_.contains(key)) status = Erasures::status_of(key);
  reporter_.show(key, status);
  alarms_.set(key, instance.due(context.now));
  if (wanted == nullptr && !instance.is_running()) {
    states_.end(context, key);
    instances_.erase(found);
  }
}

void Agent::settle(const Context& context, const model::InstanceKey& key, Instance& instance) {
  const auto ending = instance.take_ending();
  const model::WantedRecord* wanted = wanted_.find(key);
  if (!ending || wanted == nullptr || ending->generation != wanted->generation) return;
  if (wanted->finished) return;
  const model::RestartPolicy& policy = wanted->spec.item.restart;
  if (is_final(policy.mode, *ending)) {
    instance.finish(context, *ending);
    wanted_.finish(key, ending->exit_code, context.effects.writes);
  } else {
    instance.back_off(context, policy, *ending);
  }
}

bool Agent::is_admitted(const Context& context, const model::WantedRecord& wanted,
                        Instance& instance) {
  if (!can_write()) {
    instance.refuse(context,
                    model::Problem{"StoreNotWritable", "its node cannot write: " + store_problem_,
                                   model::Hindrance::StoreNotWritable});
    return false;
  }
  if (doubt_.delays_starts()) {
    instance.refuse(context, std::nullopt);
    return false;
  }
  if (!has_network(wanted.spec)) {
    const char* why = doubt_.is_there() ? "what its node was told of networks is lost"
                                        : "its node was not told of its network";
    instance.refuse(context, model::Problem{"NetworkUnknown", why});
    return false;
  }
  const auto before = wanted_.is_restored(wanted.generation) ? Runtimes::Before::MayHaveRun
                                                             : Runtimes::Before::CannotHaveRun;
  const auto admission = runtimes_.admit(wanted.spec, before);
  if (!admission.granted) instance.refuse(context, admission.refusal);
  return admission.granted;
}

// Its address without its network would be of no use to anybody.
bool Agent::has_network(const model::InstanceSpec& spec) const {
  if (!spec.network || spec.prepare_only) return true;
  return !must_apply_network_ && wanted_.knows_network_of(spec);
}

// Room is not needed for that.
void Agent::try_prepare(const Context& context, const model::InstanceKey& key, Instance& instance) {
  const model::WantedRecord& wanted = *wanted_.find(key);
  if (is_admitted(context, wanted, instance)) return instance.prepare(context, wanted);
  waiting_.wait(key, wanted.spec.runtime);
}

// It would be refused now if it were to start: whoever waits for it to be prepared must know.
void Agent::look_at_prepared(const Context& context, const model::WantedRecord& wanted,
                             Instance& instance) {
  if (is_admitted(context, wanted, instance)) return instance.refuse(context, std::nullopt);
  waiting_.wait(wanted.spec.key, wanted.spec.runtime);
}

void Agent::try_prepare(const Context& context, const model::Successor& successor,
                        Preparation& preparation) {
  const auto admission = runtimes_.admit(successor.spec, Runtimes::Before::CannotHaveRun);
  if (admission.granted) return preparation.ask(context, successor.spec);
  preparation.refuse(admission.refusal);
  waiting_.wait(successor.spec.key, successor.spec.runtime);
}

void Agent::try_start(const Context& context, const model::InstanceKey& key, Instance& instance) {
  const model::WantedRecord& wanted = *wanted_.find(key);
  if (is_admitted(context, wanted, instance)) {
    if (lets_go_of_something(wanted)) {
      wanted_.promote(key, context.effects.writes);
      touched_.insert(key);
      return;
    }
    if (has_room(wanted)) return instance.start(context, wanted, states_.handed(key));
    instance.refuse(context, std::nullopt);
  }
  waiting_.wait(key, wanted.spec.runtime);
}

// What was told to run before this life of the agent has its room; but what it shares with others
// may have been promised to it while they still ran.
bool Agent::has_room(const model::WantedRecord& wanted) const {
  const bool alone = wanted.spec.item.shared_resources.empty();
  if (!leftovers_.empty() && !(alone && wanted_.is_restored(wanted.generation))) return false;
  const auto whom = doubt_.is_there() ? SharedUse::WaitsFor::Anybody : SharedUse::WaitsFor::Leavers;
  return !shared_.must_wait(wanted.spec, whom);
}

void Agent::watch_leftover(const model::InstanceKey& key, bool is_leftover) {
  if (is_leftover) {
    leftovers_.insert(key);
  } else if (leftovers_.erase(key) > 0 && leftovers_.empty()) {
    touch_all_waiting();
  }
}

void Agent::watch_shared(const model::InstanceKey& key, const Instance& instance) {
  const bool released = shared_.set(key, instance.resources_of(Instance::Which::All),
                                    instance.resources_of(Instance::Which::Leaving));
  if (released) touch_all_waiting();
}

// What is not listed counts as gone: others would have its room, its address and its place, though
// an earlier life died before it could stop it.
bool Agent::can_tell_all(Time now) {
  if (!was_here_before_) return true;
  if (!silent_until_) silent_until_ = now + kRuntimesTellWithin;
  if (now < *silent_until_ && !runtimes_.have_told()) return false;
  was_here_before_ = false;
  silent_until_.reset();
  untold_ = runtimes_.not_told();
  return true;
}

std::optional<Time> Agent::wake_at() const {
  std::optional<Time> earliest = alarms_.next();
  take_earlier(earliest, silent_until_);
  take_earlier(earliest, runtimes_.next());
  take_earlier(earliest, erasures_.next());
  take_earlier(earliest, images_.next());
  take_earlier(earliest, doubt_.next());
  take_earlier(earliest, pool_.next());
  take_earlier(earliest, reporter_.next(config_, states_));
  return earliest;
}

}  // namespace berth::agent
