#include "bench/sessions_in_process.h"

#include <fmt/format.h>
#include <time.h>

#include <utility>

#include "base/check.h"
#include "bench/clusters.h"

namespace berth::bench {
namespace {

constexpr char kNamespace[] = "bench";

double cpu_of_this_thread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

model::Item served_item() {
  model::Item item = plain_item();
  item.id = model::ItemId{"served"};
  item.ports = {{7000, model::Protocol::Tcp}};
  return item;
}

}  // namespace

SessionsInProcess::SessionsInProcess(std::uint32_t nodes) : controller_({}, {}) {
  for (std::uint32_t i = 0; i < nodes; ++i) {
    const model::NodeId node{fmt::format("node-{:05}", i)};
    StandIn& agent = agents_[node];
    model::Report report;
    report.full = true;
    report.node = plain_node();
    report.pool = agent.pool.all();
    const std::string address = fmt::format("10.1.{}.{}", i / 256, i % 256);
    tell({control::NodeConnected{node, agent.connection, address},
          reported(node, agent, std::move(report))});
  }
}

void SessionsInProcess::add_application(const std::string& name, std::uint32_t instances,
                                        std::uint32_t per_instance) {
  model::Application application;
  application.name = name;
  application.ns = kNamespace;
  application.item = model::ItemId{"served"};
  application.scaling.minimum = application.scaling.maximum = instances;
  application.scaling.burst.reset();
  application.sessions.per_instance = per_instance;
  application.sessions.reuse = true;
  tell({control::ApplyCall{
      ++last_call_, {served_item(), model::Namespace{kNamespace}, application}, {}}});
  const auto* pool = controller_.sessions().pools().find(model::key_of(application));
  CHECK(pool->pool.count(control::Pool::Group::Ready) == instances, "all of them are ready");
}

void SessionsInProcess::deploy(std::uint32_t instances) {
  model::RunRequest run{.item = model::ItemId{"plain"}, .instances = instances};
  tell({control::ApplyCall{++last_call_, {plain_item(), model::Deployment{"others", {run}}}, {}}});
}

std::vector<model::SessionKey> SessionsInProcess::open(const std::string& application,
                                                       std::size_t count, std::size_t at_once) {
  std::vector<model::SessionKey> opened;
  opened.reserve(count);
  opened_ = &opened;
  for (std::size_t begun = 0; begun < count; begun += at_once) {
    std::vector<control::Event> calls;
    for (std::size_t i = begun; i < std::min(count, begun + at_once); ++i) {
      calls.push_back(control::OpenSessionCall{.call = ++last_call_,
                                               .application = {kNamespace, application},
                                               .name = {},
                                               .request_id = {},
                                               .caller = "bench",
                                               .data = {},
                                               .timeout = {},
                                               .ttl = {},
                                               .reopen = {}});
    }
    tell(std::move(calls));
  }
  opened_ = nullptr;
  CHECK(opened.size() == count, "all of them are open");
  return opened;
}

void SessionsInProcess::close(std::span<const model::SessionKey> sessions) {
  answered_ = 0;
  for (const model::SessionKey& session : sessions) {
    tell({control::CloseSessionCall{++last_call_, session, {}}});
  }
  CHECK(answered_ == sessions.size(), "all of them are closed");
}

void SessionsInProcess::tell(std::vector<control::Event> events) {
  std::optional<Time> wake_at;
  while (!events.empty() || (wake_at && *wake_at <= now_)) {
    const control::Effects effects = step(events);
    events.clear();
    read(effects);
    answer(effects, events);
    wake_at = effects.wake_at;
  }
}

control::Effects SessionsInProcess::step(const std::vector<control::Event>& events) {
  now_ += 1us;
  const double start = cpu_of_this_thread();
  control::Effects effects = controller_.step(now_, events);
  spent_ += cpu_of_this_thread() - start;
  return effects;
}

void SessionsInProcess::read(const control::Effects& effects) {
  for (const control::SessionReply& reply : effects.session_replies) {
    const auto* status = std::get_if<model::SessionStatus>(&reply.answer);
    CHECK(status != nullptr, "there is room for all");
    ++answered_;
    if (opened_ != nullptr) opened_->push_back(status->ref.key);
  }
}

void SessionsInProcess::answer(const control::Effects& effects,
                               std::vector<control::Event>& events) {
  if (effects.tell_when_durable) {
    events.push_back(control::WritesDurable{controller_.durable().counters.revision});
  }
  for (const control::Outgoing& outgoing : effects.commands) {
    StandIn& agent = agents_.at(outgoing.node);
    agent.acted = outgoing.command.number;
    model::Report report;
    for (const model::InstanceSpec& spec : outgoing.command.run) {
      report.instances.push_back({.key = spec.key,
                                  .version = spec.item.version,
                                  .runtime = spec.runtime,
                                  .state = model::InstanceState::Active});
    }
    events.push_back(reported(outgoing.node, agent, std::move(report)));
  }
  for (const control::PoolOutgoing& outgoing : effects.pool_commands) {
    StandIn& agent = agents_.at(outgoing.node);
    model::Report report;
    report.pool = agent.pool.answer(outgoing.command);
    events.push_back(reported(outgoing.node, agent, std::move(report)));
  }
}

control::Event SessionsInProcess::reported(const model::NodeId& node, StandIn& agent,
                                           model::Report report) {
  report.boot_id = "boot";
  report.acted = agent.acted;
  report.revision = model::is_heartbeat(report) ? agent.revision : ++agent.revision;
  return control::NodeReported{node, agent.connection, std::move(report)};
}

}  // namespace berth::bench
