#include "agent/pool/pool_instance.h"

#include <algorithm>
#include <utility>

#include "agent/fetched_image.h"
#include "base/alarms.h"

namespace berth::agent {
namespace {

using model::Pausing;
using model::PoolInstanceState;

constexpr char kToken[] = "BERTH_SESSION_TOKEN";
constexpr int kPeriodsUntilStale = 3;

std::string port_variable(const model::Port& port) {
  return "BERTH_PORT_" + std::to_string(port.number);
}

std::string port_of(const std::string& address) { return address.substr(address.rfind(':') + 1); }

// There is one run of it only, ever.
model::RunId only_run(const model::InstanceSpec&) { return {{0, 1}, 1}; }

}  // namespace

PoolInstance::PoolInstance(const model::StartPoolInstance& told)
    : spec_(told.spec),
      edition_(told.edition),
      options_(told.sessions),
      run_(only_run(told.spec)),
      is_prepared_(fetched_image_of(told.spec) == nullptr) {}

PoolInstance::PoolInstance(const Context& context, const model::RuntimeId& runtime,
                           const model::FoundRun& found)
    : run_(found.run), phase_(found.starting ? Phase::Starting : Phase::Running) {
  if (found.spec) spec_ = *found.spec;
  spec_.key = found.key;
  spec_.runtime = runtime;
  if (found.starting) overdue_ = context.now + context.config.action_timeout;
  standstill_.doubt();
  was_found_paused_ = spec_.paused;
  pausing_ = spec_.paused ? Pausing::Paused : Pausing::Running;
  if (found.pool) {
    edition_ = found.pool->edition;
    options_ = found.pool->options;
    ports_ = found.pool->ports;
    token_ = found.pool->token;
    for (const model::KeptSession& kept : found.pool->sessions) {
      sessions_.emplace(kept.session.ref, PoolSession(kept));
    }
    is_noted_ = true;
  }
  context.act_for_pool(ServeApp{spec_.key, has_app() ? token_ : "", ports_});
  if (!has_app()) return;
  app_is_there_ = true;  // as far as anybody knows; it has its time to come again
  last_word_ = context.now;
}

// --- Told --------------------------------------------------------------------------------------

void PoolInstance::stop(const Context& context, Duration grace, const model::Problem& reason) {
  if (phase_ == Phase::Gone) return;
  if (problem_.reason.empty()) problem_ = reason;
  if (phase_ != Phase::Starting && phase_ != Phase::Running && phase_ != Phase::Stopping) {
    return end(context, reason);
  }
  const bool is_new = phase_ != Phase::Stopping || grace < stop_grace_;
  if (is_new) ask_to_stop(context, grace);
}

void PoolInstance::ask_to_stop(const Context& context, Duration grace) {
  phase_ = Phase::Stopping;
  stop_grace_ = bounded(grace);
  overdue_ = context.now + stop_grace_ + context.config.action_timeout;
  context.act_at_once(Stop{spec_.key, spec_.runtime, run_, stop_grace_});
}

void PoolInstance::set_pausing(Pausing pausing) {
  pausing_ = pausing;
  is_awaited_ = true;
  was_found_paused_ &= pausing == Pausing::Paused;
}

void PoolInstance::open(const model::SessionSpec& session) {
  const auto [entry, is_new] = sessions_.try_emplace(session.ref, PoolSession(session));
  const bool has_ended = phase_ == Phase::Stopping || phase_ == Phase::Gone;
  if (is_new && has_ended) entry->second.lose(problem_);
}

void PoolInstance::close(Time now, const model::CloseSession& close) {
  if (PoolSession* session = find(close.ref)) session->close(now, close.grace, close.reason);
}

// --- Heard -------------------------------------------------------------------------------------

void PoolInstance::furnished(const Furnished& event) {
  if (phase_ != Phase::Bare) return;
  phase_ = Phase::Waiting;
  is_asked_ = false;
  problem_ =
      event.problem.empty() ? model::Problem{} : model::Problem{"NotFurnished", event.problem};
  ports_ = event.ports;
  token_ = event.token;
  for (const model::SessionPort& port : ports_) {
    spec_.item.env[port_variable(port.port)] = port_of(port.internal);
  }
  if (!has_app()) return;
  spec_.session_socket = event.socket;
  spec_.item.env[kToken] = event.token;
}

void PoolInstance::prepare_failed(const Context& context, const model::Problem& problem) {
  if (phase_ == Phase::Preparing) end(context, problem);
}

void PoolInstance::started(const Context& context) {
  if (phase_ != Phase::Starting) return;
  phase_ = Phase::Running;
  overdue_.reset();
  if (has_app()) last_word_ = context.now;
}

void PoolInstance::start_failed(const Context& context, const model::Problem& problem) {
  end(context, problem);
}

void PoolInstance::exited(const Context& context, const Exited& event) {
  if (problem_.reason.empty()) {
    problem_ =
        event.problem.reason.empty()
            ? model::Problem{"Exited", "it ended with exit code " + std::to_string(event.exit_code)}
            : event.problem;
  }
  end(context, problem_);
}

void PoolInstance::pausing_set(const Context& context, const PausingSet& event) {
  if (!standstill_.answered(context.now, event.order, event.problem)) return;
  if (has_app() && event.problem.empty()) last_word_ = context.now;
}

void PoolInstance::app_connected(Time now) {
  app_is_there_ = true;
  last_word_ = now;
}

PoolSession* PoolInstance::find(const model::SessionRef& ref) {
  const auto found = sessions_.find(ref);
  return found == sessions_.end() ? nullptr : &found->second;
}

PoolSession* PoolInstance::find_live(const std::string& name) {
  for (auto& [ref, session] : sessions_) {
    if (ref.key.name == name && !session.is_over()) return &session;
  }
  return nullptr;
}

// --- What is next ------------------------------------------------------------------------------

bool PoolInstance::serves() const {
  return phase_ == Phase::Running && (!has_app() || app_is_there_) &&
         pausing_ == Pausing::Running && !standstill_.may_be_paused();
}

// What was found like that does, until its runtime says otherwise: who is told that it runs has
// other plans with it.
bool PoolInstance::stands_still() const {
  return standstill_.is_paused() || (was_found_paused_ && !standstill_.problem());
}

std::size_t PoolInstance::live_sessions() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(sessions_, [](const auto& entry) { return !entry.second.is_over(); }));
}

PoolSession::Host PoolInstance::host() const {
  const bool is_kept = model::is_reusable(options_) && !options_.kill_when_closed;
  return {.ports = &ports_,
          .serves = serves(),
          .has_app = has_app(),
          .ends_with_it = !is_kept && live_sessions() == 1};
}

void PoolInstance::advance(const Context& context, const Runtimes& runtimes) {
  if (phase_ == Phase::Bare) furnish(context);
  if (phase_ == Phase::Waiting || phase_ == Phase::Preparing) try_start(context, runtimes);
  if (overdue_ && context.now >= *overdue_) {
    if (phase_ != Phase::Stopping) problem_ = {"StartTimeout", "it did not come up"};
    ask_to_stop(context, Duration{});  // again, if that was not answered
  }
  if (phase_ == Phase::Running) look_after_run(context);
  advance_sessions(context);
  if (phase_ == Phase::Running) end_after_last_session(context);
  if (phase_ == Phase::Running) keep_note(context);
}

void PoolInstance::furnish(const Context& context) {
  if (std::exchange(is_asked_, true)) return;
  std::optional<model::Ipv4> address;
  if (spec_.network) address = spec_.network->address;
  context.act_for_pool(Furnish{spec_.key, spec_.item.ports, has_app(), address});
}

void PoolInstance::try_start(const Context& context, const Runtimes& runtimes) {
  if (!problem_.reason.empty()) return end(context, problem_);
  const auto admission = runtimes.admit(spec_, Runtimes::Before::CannotHaveRun);
  if (admission.refusal) return end(context, *admission.refusal);
  if (!admission.granted) return;
  if (!is_prepared_) {
    phase_ = Phase::Preparing;
    if (!std::exchange(is_asked_, true)) {
      context.act_at_once(Prepare{spec_, run_.generation, run_.attempt});
    }
    return;
  }
  phase_ = Phase::Starting;
  overdue_ = context.now + context.config.action_timeout;
  context.act_at_once(Start{spec_, run_, std::nullopt});
}

void PoolInstance::look_after_run(const Context& context) {
  const auto patience = context.config.action_timeout;
  if (const auto order = standstill_.ask(context.now, pausing_, patience)) {
    context.act_at_once(SetPausing{spec_.key, spec_.runtime, run_, pausing_, *order});
  }
  const bool must_speak = has_app() && last_word_ && !standstill_.may_be_paused();
  if (!must_speak || context.now < *last_word_ + kPeriodsUntilStale * options_.health_period)
    return;
  const model::Problem stale{"Stale", "its app has not been heard of for 3 periods"};
  lose_sessions(stale);
  stop(context, Duration{}, stale);
}

void PoolInstance::advance_sessions(const Context& context) {
  for (auto& [ref, session] : sessions_) {
    if (session.is_over()) continue;
    if (session.advance(context, host())) {
      changed_.insert(ref);
      is_noted_ = false;
    }
    if (session.is_over()) has_served_ = true;
    if (phase_ != Phase::Running) continue;
    switch (session.wants_stop(context.now, host())) {
      case PoolSession::Stop::No: break;
      case PoolSession::Stop::WithGrace:
        stop(context, session.spec().close_grace, {"SessionClosed", "its session was closed"});
        break;
      case PoolSession::Stop::Now:
        stop(context, Duration{}, {"GraceExceeded", "its session was not closed in time"});
        break;
    }
  }
}

void PoolInstance::end_after_last_session(const Context& context) {
  if (!has_served_ || live_sessions() > 0) return;
  const bool is_kept = model::is_reusable(options_) && !options_.kill_when_closed;
  if (!is_kept) {
    stop(context, options_.close_grace, {"SessionClosed", "its session was closed"});
  }
}

void PoolInstance::lose_sessions(const model::Problem& reason) {
  for (auto& [ref, session] : sessions_) session.lose(reason);
}

// It is over, whatever it was doing; its sessions with it.
void PoolInstance::end(const Context& context, model::Problem problem) {
  if (phase_ == Phase::Gone) return;
  phase_ = Phase::Gone;
  problem_ = std::move(problem);
  overdue_.reset();
  lose_sessions(problem_);
  advance_sessions(context);
  context.act_for_pool(Unfurnish{spec_.key});
}

void PoolInstance::keep_note(const Context& context) {
  if (std::exchange(is_noted_, true)) return;
  model::PoolNote note{edition_, options_, token_, ports_, {}};
  for (const auto& [ref, session] : sessions_) {
    if (!session.is_over()) note.sessions.push_back(session.kept());
  }
  context.act_for_pool(KeepNote{spec_.key, spec_.runtime, run_, std::move(note)});
}

std::optional<Time> PoolInstance::due() const {
  std::optional<Time> due = overdue_;
  if (phase_ == Phase::Gone) return std::nullopt;
  if (phase_ != Phase::Running) return due;
  take_earlier(due, standstill_.due());
  if (has_app() && last_word_ && !standstill_.may_be_paused()) {
    take_earlier(due, *last_word_ + kPeriodsUntilStale * options_.health_period);
  }
  for (const auto& [ref, session] : sessions_) take_earlier(due, session.due());
  return due;
}

// --- What is reported --------------------------------------------------------------------------

model::ReportedPoolInstance PoolInstance::report() const {
  model::ReportedPoolInstance report{.key = spec_.key,
                                     .item = spec_.item.id.value(),
                                     .version = spec_.item.version,
                                     .edition = edition_,
                                     .runtime = spec_.runtime,
                                     .image = spec_.image,
                                     .uid = spec_.uid,
                                     .state = PoolInstanceState::Starting,
                                     .problem = problem_,
                                     .cannot_pause = false,
                                     .ports = ports_};
  if (phase_ == Phase::Stopping) report.state = PoolInstanceState::Stopping;
  // It is gone for others when its sessions are over: their ports are free by then.
  if (phase_ == Phase::Gone) {
    report.state = sessions_.empty() ? PoolInstanceState::Gone : PoolInstanceState::Stopping;
  }

  if (phase_ != Phase::Running) return report;
  if (stands_still()) {
    report.state = PoolInstanceState::Paused;
  } else if (!has_app() || app_is_there_) {
    report.state = PoolInstanceState::Running;
  }
  if (const auto& problem = standstill_.problem()) {
    report.problem = *problem;
    report.cannot_pause = pausing_ == Pausing::Paused;
  }
  return report;
}

bool PoolInstance::take_awaited() {
  const bool is_so =
      pausing_ == Pausing::Paused ? standstill_.is_paused() : !standstill_.may_be_paused();
  const bool is_decided = is_so || standstill_.problem().has_value();
  return is_decided && std::exchange(is_awaited_, false);
}

std::vector<model::ReportedSession> PoolInstance::take_changed(Time now) {
  std::vector<model::ReportedSession> reports;
  for (const model::SessionRef& ref : std::exchange(changed_, {})) {
    const auto session = sessions_.find(ref);
    if (session == sessions_.end()) continue;
    reports.push_back(session->second.report(now));
    if (session->second.is_over()) sessions_.erase(session);
  }
  return reports;
}

}  // namespace berth::agent
