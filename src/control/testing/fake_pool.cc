#include "control/testing/fake_pool.h"

#include <utility>
#include <vector>

namespace berth::control {

using model::PoolInstanceState;
using model::SessionState;

void FakePool::carry_out(const model::PoolCommand& command) {
  must_answer_ = true;
  if (command.number != acted_ + 1) return;
  acted_ = command.number;
  for (const model::PoolOrder& order : command.orders) {
    std::visit([this](const auto& what) { carry_out(what); }, order);
  }
}

void FakePool::carry_out(const model::StartPoolInstance& order) {
  if (instances.contains(order.spec.key)) return;
  ++starts[order.spec.key];
  model::ReportedPoolInstance instance;
  instance.key = order.spec.key;
  instance.item = order.spec.item.id.value();
  instance.version = order.spec.item.version;
  instance.edition = order.edition;
  instance.runtime = order.spec.runtime;
  instance.uid = order.spec.uid;
  instances.emplace(order.spec.key, instance);
  if (fails_starts) return set(order.spec.key, PoolInstanceState::Gone, {"Broken", "it is"});
  set(order.spec.key, starts_slowly ? PoolInstanceState::Starting : PoolInstanceState::Running);
}

void FakePool::carry_out(const model::StopPoolInstance& order) {
  if (instances.contains(order.key)) return die(order.key);
  changed_[order.key].key = order.key;
  changed_[order.key].state = PoolInstanceState::Gone;
}

void FakePool::carry_out(const model::SetPoolPausing& order) {
  if (!instances.contains(order.key)) return;
  const bool pauses = order.pausing == model::Pausing::Paused;
  if (pauses && cannot_pause) {
    instances.at(order.key).cannot_pause = true;
    return set(order.key, PoolInstanceState::Running, {"PauseFailed", "there is no freezer"});
  }
  set(order.key, pauses ? PoolInstanceState::Paused : PoolInstanceState::Running);
}

void FakePool::carry_out(const model::OpenSession& order) {
  const model::SessionRef& ref = order.session.ref;
  if (sessions.contains(ref)) return;
  sessions[ref].session = order.session;
  const bool is_elsewhere =
      !order.session.ports.empty() && !order.session.ports.front().internal.empty();
  if (!is_elsewhere && !instances.contains(order.session.instance)) {
    return set(ref, SessionState::Failed, {"InstanceGone", "it is"});
  }
  for (const model::SessionPort& port : order.session.ports) {
    if (!taken_ports.contains(port.external)) continue;
    return set(ref, SessionState::Failed,
               {"PortTaken", "a stranger has it", model::Hindrance::PortTaken});
  }
  if (refuses_sessions) return set(ref, SessionState::Failed, {"AppRefused", "no such map"});
  set(ref, opens_slowly ? SessionState::Starting : SessionState::Available);
}

void FakePool::carry_out(const model::CloseSession& order) {
  if (!sessions.contains(order.ref)) sessions[order.ref].session.ref = order.ref;
  set(order.ref, closes_slowly ? SessionState::Closing : SessionState::Closed, order.reason);
}

void FakePool::set(const model::InstanceKey& key, PoolInstanceState state, model::Problem problem) {
  model::ReportedPoolInstance& instance = instances.at(key);
  instance.state = state;
  instance.problem = std::move(problem);
  changed_.insert_or_assign(key, instance);
  if (state == PoolInstanceState::Gone) instances.erase(key);
}

void FakePool::set(const model::SessionRef& ref, SessionState state, model::Problem reason) {
  model::ReportedSession& session = sessions.at(ref);
  session.state = state;
  session.reason = std::move(reason);
  news_.insert_or_assign(ref, session);
  if (model::is_over(state)) sessions.erase(ref);
}

void FakePool::die(const model::InstanceKey& key) {
  std::vector<model::SessionRef> lost;
  for (const auto& [ref, session] : sessions) {
    if (session.session.instance == key) lost.push_back(ref);
  }
  for (const model::SessionRef& ref : lost) {
    const bool closes = sessions.at(ref).state == SessionState::Closing;
    set(ref, closes ? SessionState::Closed : SessionState::Failed, {"Exited", "with 1"});
  }
  set(key, PoolInstanceState::Gone, {"Exited", "with 1"});
}

void FakePool::lose_everything() { *this = FakePool{}; }

model::PoolReport FakePool::take_news() {
  model::PoolReport report;
  report.acted = acted_;
  must_answer_ = false;
  for (auto& [key, instance] : std::exchange(changed_, {})) report.instances.push_back(instance);
  for (auto& [ref, session] : std::exchange(news_, {})) report.sessions.push_back(session);
  return report;
}

model::PoolReport FakePool::take_all() {
  take_news();
  model::PoolReport report;
  report.acted = acted_;
  for (const auto& [key, instance] : instances) report.instances.push_back(instance);
  for (const auto& [ref, session] : sessions) report.sessions.push_back(session);
  return report;
}

}  // namespace berth::control
