#include "agent/pool/pool.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/moved.h"

namespace berth::agent {
namespace {

constexpr Duration kRemembersEnded = 5min;
constexpr std::size_t kRemembersEndedMax = 1'000;

model::ReportedSession failed_session(const model::SessionSpec& spec, model::Problem reason) {
  model::ReportedSession report{spec, model::SessionState::Failed, std::move(reason), 0, {}};
  report.session.data.clear();
  return report;
}

// It says where the session is reached: it is another node's.
bool is_elsewhere(const model::SessionSpec& spec) {
  return !spec.ports.empty() &&
         std::ranges::none_of(spec.ports,
                              [](const model::SessionPort& port) { return port.internal.empty(); });
}

}  // namespace

// --- Commands ----------------------------------------------------------------------------------

void Pool::record(const Context& context, const PoolCommandReceived& event) {
  must_answer_ = true;
  if (event.command.number != acted_ + 1) return;
  acted_ = event.command.number;
  for (const model::PoolOrder& order : event.command.orders) {
    std::visit([&](const auto& told) { carry_out(context, told); }, order);
  }
}

void Pool::carry_out(const Context&, const model::StartPoolInstance& order) {
  touched_.insert(order.spec.key);
  instances_.try_emplace(order.spec.key, order);
}

void Pool::carry_out(const Context& context, const model::StopPoolInstance& order) {
  if (PoolInstance* instance = touch(order.key)) {
    return instance->stop(context, order.grace, {"Stopped", "it is not needed any more"});
  }
  // Whoever asks for it waits for the word.
  model::ReportedPoolInstance& gone = changed_[order.key];
  gone.key = order.key;
  gone.state = model::PoolInstanceState::Gone;
}

void Pool::carry_out(const Context&, const model::SetPoolPausing& order) {
  if (PoolInstance* instance = touch(order.key)) instance->set_pausing(order.pausing);
}

void Pool::carry_out(const Context& context, const model::OpenSession& order) {
  const model::SessionSpec& spec = order.session;
  if (PoolInstance* instance = touch(spec.instance)) return instance->open(spec);
  if (is_elsewhere(spec)) {
    forwards_.try_emplace(spec.ref, spec);
    touched_forwards_.insert(spec.ref);
    return;
  }
  const auto report = failed_session(spec, {"InstanceGone", "its instance is not there any more"});
  remember_ended(context.now, report);
  news_.insert_or_assign(spec.ref, report);
}

void Pool::carry_out(const Context& context, const model::CloseSession& order) {
  PoolInstance* instance = touch(order.instance);
  if (instance != nullptr && instance->find(order.ref) != nullptr) {
    return instance->close(context.now, order);
  }
  if (const auto forward = forwards_.find(order.ref); forward != forwards_.end()) {
    touched_forwards_.insert(order.ref);
    return forward->second.close(context.now, order.grace, order.reason);
  }
  model::ReportedSession closed;
  closed.session.ref = order.ref;
  closed.session.instance = order.instance;
  closed.state = model::SessionState::Closed;
  closed.reason = order.reason;
  news_.insert_or_assign(order.ref, closed);
}

// --- Facts -------------------------------------------------------------------------------------

PoolInstance* Pool::touch(const model::InstanceKey& key) {
  const auto found = instances_.find(key);
  if (found == instances_.end()) return nullptr;
  touched_.insert(key);
  return &found->second;
}

PoolSession* Pool::touch(const model::InstanceKey& key, const model::SessionRef& ref) {
  if (PoolInstance* instance = touch(key)) return instance->find(ref);
  const auto forward = forwards_.find(ref);
  if (forward == forwards_.end()) return nullptr;
  touched_forwards_.insert(ref);
  return &forward->second;
}

PoolSession* Pool::touch(const model::InstanceKey& key, const std::string& session) {
  PoolInstance* instance = touch(key);
  return instance == nullptr ? nullptr : instance->find_live(session);
}

void Pool::found(const Context& context, const model::RuntimeId& runtime,
                 const model::FoundRun& run) {
  if (instances_.contains(run.key)) return;
  touched_.insert(run.key);
  const auto entry = instances_.try_emplace(run.key, context, runtime, run).first;
  // Nobody can say what it is, or it ends already.
  if (!run.spec) entry->second.stop(context, {}, {"Stopped", "it was told to stop"});
}

void Pool::listed(const Context& context, const model::RuntimeId& runtime,
                  const std::set<model::InstanceKey>& running) {
  for (auto& [key, instance] : instances_) {
    if (instance.runtime() != runtime || !instance.is_running() || running.contains(key)) continue;
    touched_.insert(key);
    instance.exited(context, {.key = key, .run = {}, .problem = {"Vanished", "it runs no more"}});
  }
}

void Pool::record(const Context&, const Prepared& event) {
  if (PoolInstance* instance = touch(event.key)) instance->prepared();
}

void Pool::record(const Context& context, const PrepareFailed& event) {
  if (PoolInstance* instance = touch(event.key)) instance->prepare_failed(context, event.problem);
}

void Pool::record(const Context& context, const Started& event) {
  if (PoolInstance* instance = touch(event.key)) instance->started(context);
}

void Pool::record(const Context& context, const StartFailed& event) {
  if (PoolInstance* instance = touch(event.key)) instance->start_failed(context, event.problem);
}

void Pool::record(const Context& context, const Exited& event) {
  if (PoolInstance* instance = touch(event.key)) instance->exited(context, event);
}

void Pool::record(const Context& context, const PausingSet& event) {
  if (PoolInstance* instance = touch(event.key)) instance->pausing_set(context, event);
}

void Pool::record(const Measured& event) {
  model::Usage usage;
  for (const auto& [key, instance] : instances_) {
    const auto used = event.instances.find(key);
    if (used != event.instances.end()) usage = usage + used->second;
  }
  must_answer_ |= has_moved(usage_.value_or(model::Usage{}), usage);
  if (must_answer_) usage_ = usage;
}

void Pool::record(const Context&, const Furnished& event) {
  if (PoolInstance* instance = touch(event.key)) instance->furnished(event);
}

void Pool::record(const Context& context, const AppConnected& event) {
  if (PoolInstance* instance = touch(event.key)) instance->app_connected(context.now);
}

// It may come again; if not, its silence tells.
void Pool::record(const Context&, const AppDisconnected&) {}

void Pool::record(const Context& context, const AppPinged& event) {
  if (PoolInstance* instance = touch(event.key)) instance->app_pinged(context.now);
}

void Pool::record(const Context& context, const AppOpened& event) {
  if (PoolSession* session = touch(event.key, event.session)) session->app_opened(event.problem);
  record(context, AppPinged{event.key});
}

void Pool::record(const Context& context, const AppClosed& event) {
  if (PoolSession* session = touch(event.key, event.session)) session->app_closed();
  record(context, AppPinged{event.key});
}

void Pool::record(const Context& context, const AppCounted& event) {
  if (PoolSession* session = touch(event.key, event.session)) {
    session->app_counted(context.now, event.clients);
  }
  record(context, AppPinged{event.key});
}

void Pool::record(const Context&, const EndpointsOpened& event) {
  if (PoolSession* session = touch(event.instance, event.ref)) {
    session->endpoints_opened(event);
  }
}

void Pool::record(const Context&, const EndpointsClosed& event) {
  if (PoolSession* session = touch(event.instance, event.ref)) session->endpoints_closed();
}

void Pool::record(const Context&, const EndpointUsed& event) {
  if (PoolSession* session = touch(event.instance, event.ref)) session->claimed();
}

// --- Decisions ---------------------------------------------------------------------------------

void Pool::decide(const Context& context, const Runtimes& runtimes) {
  for (const model::InstanceKey& key : alarms_.take_due(context.now)) touched_.insert(key);
  if (std::exchange(looks_at_all_, false)) {
    for (const auto& [key, instance] : instances_) touched_.insert(key);
  }
  for (const model::InstanceKey& key : std::exchange(touched_, {})) {
    decide_about(context, runtimes, key);
  }
  advance_forwards(context);
}

void Pool::advance_forwards(const Context& context) {
  for (const model::SessionRef& ref : std::exchange(touched_forwards_, {})) {
    const auto found = forwards_.find(ref);
    if (found == forwards_.end()) continue;
    PoolSession& forward = found->second;
    const PoolSession::Host host{
        .ports = &forward.spec().ports, .serves = true, .is_elsewhere = true};
    if (!forward.advance(context, host)) continue;
    const model::ReportedSession report = forward.report(context.now);
    news_.insert_or_assign(ref, report);
    if (!forward.is_over()) continue;
    remember_ended(context.now, report);
    forwards_.erase(found);
  }
}

void Pool::decide_about(const Context& context, const Runtimes& runtimes,
                        const model::InstanceKey& key) {
  const auto found = instances_.find(key);
  if (found == instances_.end()) return;
  PoolInstance& instance = found->second;
  instance.advance(context, runtimes);
  tell(context.now, instance);
  alarms_.set(key, instance.due());
  if (!instance.is_gone() || !instance.sessions().empty()) return;
  told_.erase(key);
  instances_.erase(found);
}

void Pool::tell(Time now, PoolInstance& instance) {
  for (const model::ReportedSession& session : instance.take_changed(now)) {
    if (model::is_over(session.state)) remember_ended(now, session);
    news_.insert_or_assign(session.session.ref, session);
  }
  model::ReportedPoolInstance report = instance.report();
  const auto known = told_.find(instance.key());
  const bool is_awaited = instance.take_awaited();
  if (!is_awaited && known != told_.end() && known->second == report) return;
  told_.insert_or_assign(instance.key(), report);
  changed_.insert_or_assign(instance.key(), std::move(report));
}

void Pool::remember_ended(Time now, const model::ReportedSession& session) {
  ended_.emplace_back(now, session);
  while (ended_.size() > kRemembersEndedMax || now - ended_.front().first > kRemembersEnded) {
    ended_.pop_front();
  }
}

// --- What is reported --------------------------------------------------------------------------

model::PoolReport Pool::begin_report() {
  must_answer_ = false;
  model::PoolReport report;
  report.acted = acted_;
  report.usage = usage_;
  return report;
}

model::PoolReport Pool::take_news() {
  model::PoolReport report = begin_report();
  for (auto& [key, instance] : std::exchange(changed_, {})) {
    report.instances.push_back(std::move(instance));
  }
  for (auto& [ref, session] : std::exchange(news_, {})) {
    report.sessions.push_back(std::move(session));
  }
  return report;
}

model::PoolReport Pool::take_all(Time now) {
  changed_.clear();
  news_.clear();
  model::PoolReport report = begin_report();
  std::set<model::SessionRef> live;
  for (const auto& [key, instance] : instances_) {
    report.instances.push_back(instance.report());
    for (const auto& [ref, session] : instance.sessions()) {
      live.insert(ref);
      report.sessions.push_back(session.report(now));
      if (session.spec().reopen) report.sessions.back().session.data = session.spec().data;
    }
  }
  for (const auto& [ref, forward] : forwards_) {
    live.insert(ref);
    report.sessions.push_back(forward.report(now));
  }
  // A control plane that has forgotten a session may have used its name and number again.
  for (const auto& [time, session] : ended_) {
    if (!live.contains(session.session.ref)) report.sessions.push_back(session);
  }
  return report;
}

}  // namespace berth::agent
