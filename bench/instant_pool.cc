#include "bench/instant_pool.h"

#include <variant>

namespace berth::bench {

using model::PoolInstanceState;
using model::SessionState;

model::PoolReport InstantPool::answer(const model::PoolCommand& command) {
  model::PoolReport report;
  if (command.number == acted_ + 1) {
    acted_ = command.number;
    for (const model::PoolOrder& order : command.orders) {
      std::visit([&](const auto& what) { carry_out(what, report); }, order);
    }
  }
  report.acted = acted_;
  return report;
}

model::PoolReport InstantPool::all() const {
  model::PoolReport report;
  report.acted = acted_;
  for (const auto& [key, instance] : instances_) report.instances.push_back(instance);
  for (const auto& [ref, session] : sessions_) report.sessions.push_back(session);
  return report;
}

void InstantPool::carry_out(const model::StartPoolInstance& order, model::PoolReport& report) {
  model::ReportedPoolInstance& instance = instances_[order.spec.key];
  instance.key = order.spec.key;
  instance.item = order.spec.item.id.value();
  instance.version = order.spec.item.version;
  instance.edition = order.edition;
  instance.runtime = order.spec.runtime;
  instance.uid = order.spec.uid;
  instance.state = PoolInstanceState::Running;
  report.instances.push_back(instance);
}

void InstantPool::carry_out(const model::StopPoolInstance& order, model::PoolReport& report) {
  instances_.erase(order.key);
  model::ReportedPoolInstance gone;
  gone.key = order.key;
  gone.state = PoolInstanceState::Gone;
  report.instances.push_back(gone);
}

void InstantPool::carry_out(const model::SetPoolPausing& order, model::PoolReport& report) {
  model::ReportedPoolInstance& instance = instances_[order.key];
  const bool pauses = order.pausing == model::Pausing::Paused;
  instance.state = pauses ? PoolInstanceState::Paused : PoolInstanceState::Running;
  report.instances.push_back(instance);
}

void InstantPool::carry_out(const model::OpenSession& order, model::PoolReport& report) {
  model::ReportedSession& opened = report.sessions.emplace_back();
  opened.session = order.session;
  opened.state = SessionState::Available;
  for (model::SessionPort& port : opened.session.ports) port.internal = "127.0.0.1:40000";
  if (keeps_ == Keeps::Sessions) sessions_.insert_or_assign(order.session.ref, opened);
}

void InstantPool::carry_out(const model::CloseSession& order, model::PoolReport& report) {
  sessions_.erase(order.ref);
  model::ReportedSession& closed = report.sessions.emplace_back();
  closed.session.ref = order.ref;
  closed.session.instance = order.instance;
  closed.state = SessionState::Closed;
  closed.reason = order.reason;
}

}  // namespace berth::bench
