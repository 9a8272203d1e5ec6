#include "sim/describe.h"

#include <fmt/format.h>

namespace berth::sim {
namespace {

using model::to_string;

std::string text(const model::CommandNumber& number) {
  return fmt::format("{}.{}", number.epoch, number.number);
}

std::string text(const agent::RunId& run) {
  return fmt::format("{}:{}", text(run.generation), run.attempt);
}

std::string text(const model::NodeNetwork& network) {
  std::string line = "networks";
  for (const model::ProviderNetwork& one : network.networks) line += " " + one.owner.value();
  return line + fmt::format(", {} names, {} flows", network.names.size(), network.flows.size());
}

std::string text(const model::ReportedStatus& status) {
  return fmt::format("{}@{}={}{}{}", to_string(status.key), status.version, to_string(status.state),
                     status.finished ? " finished" : "", status.stopping ? " stopping" : "");
}

std::string text(const model::SavedState& state) {
  return fmt::format("{}:{}#{}{}", to_string(state.key), state.generation, state.digest,
                     state.content.empty() ? " heard" : "");
}

std::string text(const model::SessionRef& ref) {
  return fmt::format("{}#{}", to_string(ref.key), ref.incarnation);
}

struct PoolOrderText {
  std::string operator()(const model::StartPoolInstance& o) const {
    return fmt::format("+{}@{} e{}", to_string(o.spec.key), o.spec.item.version, o.edition);
  }
  std::string operator()(const model::StopPoolInstance& o) const {
    return fmt::format("-{}", to_string(o.key));
  }
  std::string operator()(const model::SetPoolPausing& o) const {
    return fmt::format("{} {}", o.pausing == model::Pausing::Paused ? "pause" : "resume",
                       to_string(o.key));
  }
  std::string operator()(const model::OpenSession& o) const {
    return fmt::format("open {} on {}", text(o.session.ref), to_string(o.session.instance));
  }
  std::string operator()(const model::CloseSession& o) const {
    return fmt::format("close {} on {}", text(o.ref), to_string(o.instance));
  }
};

std::string text(const model::PoolReport& report) {
  std::string line = fmt::format("pool acted {}", report.acted);
  for (const model::ReportedPoolInstance& instance : report.instances) {
    line += fmt::format(" {}@{} e{}={}", to_string(instance.key), instance.version,
                        instance.edition, to_string(instance.state));
  }
  for (const model::ReportedSession& session : report.sessions) {
    line += fmt::format(" {}={}", text(session.session.ref), to_string(session.state));
  }
  return line;
}

struct ControlEvent {
  std::string operator()(const control::NodeConnected& e) const {
    return fmt::format("connected {} #{}", e.node.value(), e.connection);
  }
  std::string operator()(const control::NodeDisconnected& e) const {
    return fmt::format("disconnected {} #{}", e.node.value(), e.connection);
  }
  std::string operator()(const control::NodeReported& e) const {
    return fmt::format("{} #{} {}", e.node.value(), e.connection, describe(e.report));
  }
  std::string operator()(const control::ApplyCall& e) const {
    std::string names;
    for (const model::Document& document : e.documents) names += " " + name(document);
    return fmt::format("call {} apply{}", e.call, names);
  }
  std::string operator()(const control::DeleteCall& e) const {
    return fmt::format("call {} delete {} {}", e.call, e.kind, e.name);
  }
  std::string operator()(const control::CordonCall& e) const {
    const bool cordons = e.scheduling == control::Scheduling::Cordoned;
    return fmt::format("call {} {} {}", e.call, cordons ? "cordon" : "uncordon", e.node.value());
  }
  std::string operator()(const control::RebalanceCall& e) const {
    const bool everything = e.scope == control::RebalanceScope::Everything;
    return fmt::format("call {} rebalance{}", e.call, everything ? " everything" : "");
  }
  std::string operator()(const control::DrainCall& e) const {
    return fmt::format("call {} drain {} within {} ms", e.call, e.node.value(),
                       e.deadline.count() / 1000);
  }
  std::string operator()(const control::PauseCall& e) const {
    return fmt::format("call {} {} {}", e.call,
                       e.pausing == model::Pausing::Paused ? "pause" : "resume", to_string(e.key));
  }
  std::string operator()(const control::ReleaseCall& e) const {
    return fmt::format("release {}", e.call);
  }
  std::string operator()(const control::ForgetNodeCall& e) const {
    return fmt::format("call {} forget {}", e.call, e.node.value());
  }
  std::string operator()(const control::OpenSessionCall& e) const {
    return fmt::format("call {} open a session of {}{}{}{}{}", e.call, to_string(e.application),
                       e.name.empty() ? "" : ", name ", e.name,
                       e.request_id.empty() ? "" : ", request ", e.request_id);
  }
  std::string operator()(const control::CloseSessionCall& e) const {
    return fmt::format("call {} close session {}", e.call, to_string(e.session));
  }
  std::string operator()(const control::SessionCallerGone& e) const {
    return fmt::format("caller {} is gone", e.call);
  }
  std::string operator()(const control::WritesDurable& e) const {
    return fmt::format("durable up to {}", e.revision);
  }
  std::string operator()(const control::Subscribed& e) const {
    return fmt::format("subscribed {}", e.listener);
  }
  std::string operator()(const control::Unsubscribed& e) const {
    return fmt::format("unsubscribed {}", e.listener);
  }

  struct DocumentName {
    std::string operator()(const model::Deployment& d) const {
      std::string runs;
      for (const model::RunRequest& run : d.run) runs += " " + request(run);
      return fmt::format("deployment {}:{};", d.name, runs);
    }
    std::string operator()(const model::EnvOverride& d) const {
      return fmt::format("override {} of {} entries;", d.name, d.entries.size());
    }
    std::string operator()(const model::Subject& d) const {
      return fmt::format("subject {} {};", d.id.value(), d.present ? "present" : "absent");
    }
    template <model::DocumentValue D>
    std::string operator()(const D& d) const {
      return model::id_of(d);
    }
  };

  static std::string name(const model::Document& document) {
    return std::visit(DocumentName{}, document);
  }
  static std::string request(const model::RunRequest& run) {
    const std::string count = run.instances ? fmt::format("{}", *run.instances) : "all";
    return fmt::format("{}@{} x{} p{}", run.item.value(), run.version, count, run.priority);
  }
};

struct AgentEvent {
  std::string operator()(const agent::Connected& e) const {
    return fmt::format("connected #{}", e.connection);
  }
  std::string operator()(const agent::Disconnected& e) const {
    return fmt::format("disconnected #{}", e.connection);
  }
  std::string operator()(const agent::CommandReceived& e) const { return describe(e.command); }
  std::string operator()(const agent::PoolCommandReceived& e) const { return describe(e.command); }
  std::string operator()(const agent::NodeObserved& e) const {
    std::string text = fmt::format("node {}", to_string(e.info.state));
    for (const model::Runtime& runtime : e.info.runtimes) {
      text += fmt::format(" {}={}", runtime.id.value(), to_string(runtime.ready));
    }
    return text;
  }
  std::string operator()(const agent::RuntimeLeft& e) const {
    return fmt::format("runtime {} has left", e.runtime.value());
  }
  std::string operator()(const agent::RunsListed& e) const {
    std::string runs;
    for (const agent::FoundRun& run : e.runs) {
      runs += fmt::format(" {}@{}#{}", to_string(run.key), run.version, text(run.run));
    }
    return fmt::format("listed {}{}", e.runtime.value(), runs);
  }
  std::string operator()(const agent::Prepared& e) const {
    return fmt::format("prepared {}#{}.{}", to_string(e.key), text(e.generation), e.order);
  }
  std::string operator()(const agent::PrepareFailed& e) const {
    return fmt::format("prepare failed {}#{}.{} {}", to_string(e.key), text(e.generation), e.order,
                       e.problem.reason);
  }
  std::string operator()(const agent::Started& e) const {
    return fmt::format("started {}#{}", to_string(e.key), text(e.run));
  }
  std::string operator()(const agent::StartFailed& e) const {
    return fmt::format("start failed {}#{} {}", to_string(e.key), text(e.run), e.problem.reason);
  }
  std::string operator()(const agent::StateSaved& e) const {
    return fmt::format("state of {} {}", to_string(e.key), e.digest);
  }
  std::string operator()(const agent::Exited& e) const {
    return fmt::format("exited {}#{} {}", to_string(e.key), text(e.run), e.exit_code);
  }
  std::string operator()(const agent::CheckBegun& e) const {
    return fmt::format("check of {}#{} begins", to_string(e.key), text(e.run));
  }
  std::string operator()(const agent::HealthChecked& e) const {
    return fmt::format("checked {}#{} {}", to_string(e.key), text(e.run), e.healthy);
  }
  std::string operator()(const agent::PausingSet& e) const {
    return fmt::format("pausing set {}#{} order {} {}", to_string(e.key), text(e.run), e.order,
                       e.problem);
  }
  std::string operator()(const agent::Remarked& e) const {
    return fmt::format("remarked {}#{} {}", to_string(e.key), text(e.run), e.remark.reason);
  }
  std::string operator()(const agent::Measured& e) const {
    return fmt::format("measured {} {}", e.total.cpu.count(), e.total.ram.count());
  }
  std::string operator()(const agent::DataErased& e) const {
    return fmt::format("erased {} {}", to_string(e.key), e.problem);
  }
  std::string operator()(const agent::StoreObserved& e) const {
    return fmt::format("store {}", e.problem.empty() ? "can be written" : e.problem);
  }
  std::string operator()(const agent::StopWithheld& e) const {
    return fmt::format("stop withheld {}#{}", to_string(e.key), text(e.run));
  }
  std::string operator()(const agent::Furnished& e) const {
    return fmt::format("furnished {} {}", to_string(e.key), e.problem);
  }
  std::string operator()(const agent::AppConnected& e) const {
    return fmt::format("app connected {}", to_string(e.key));
  }
  std::string operator()(const agent::AppDisconnected& e) const {
    return fmt::format("app disconnected {}", to_string(e.key));
  }
  std::string operator()(const agent::AppPinged& e) const {
    return fmt::format("app pinged {}", to_string(e.key));
  }
  std::string operator()(const agent::AppOpened& e) const {
    return fmt::format("app opened {} {} {}", to_string(e.key), e.session, e.problem);
  }
  std::string operator()(const agent::AppClosed& e) const {
    return fmt::format("app closed {} {}", to_string(e.key), e.session);
  }
  std::string operator()(const agent::AppCounted& e) const {
    return fmt::format("app counted {} {} {}", to_string(e.key), e.session, e.clients);
  }
  std::string operator()(const agent::EndpointsOpened& e) const {
    return fmt::format("endpoints opened {} {}", text(e.ref), e.problem);
  }
  std::string operator()(const agent::EndpointsClosed& e) const {
    return fmt::format("endpoints closed {}", text(e.ref));
  }
  std::string operator()(const agent::EndpointUsed& e) const {
    return fmt::format("endpoint used {}", text(e.ref));
  }
};

struct PoolActionText {
  std::string operator()(const agent::Furnish& a) const {
    return fmt::format("furnish {}", to_string(a.key));
  }
  std::string operator()(const agent::ServeApp& a) const {
    return fmt::format("serve app {}", to_string(a.key));
  }
  std::string operator()(const agent::Unfurnish& a) const {
    return fmt::format("unfurnish {}", to_string(a.key));
  }
  std::string operator()(const agent::OpenInApp& a) const {
    return fmt::format("open in app {} {}", to_string(a.key), a.session);
  }
  std::string operator()(const agent::CloseInApp& a) const {
    return fmt::format("close in app {} {}", to_string(a.key), a.session);
  }
  std::string operator()(const agent::OpenEndpoints& a) const {
    std::string ports;
    for (const model::SessionPort& port : a.ports) {
      ports += fmt::format(" {}:{}", port.external_address, port.external);
    }
    return fmt::format("open endpoints {}{}", text(a.ref), ports);
  }
  std::string operator()(const agent::RefuseNew& a) const {
    return fmt::format("refuse new {}", text(a.ref));
  }
  std::string operator()(const agent::CloseEndpoints& a) const {
    return fmt::format("close endpoints {}", text(a.ref));
  }
  std::string operator()(const agent::KeepNote& a) const {
    return fmt::format("keep note {} of {} sessions", to_string(a.key), a.note.sessions.size());
  }
};

struct ActionText {
  std::string operator()(const agent::ListRuns& a) const {
    return fmt::format("list {}", a.runtime.value());
  }
  std::string operator()(const agent::Prepare& a) const {
    return fmt::format("prepare {}@{} #{}.{}", to_string(a.spec.key), a.spec.item.version,
                       text(a.generation), a.order);
  }
  std::string operator()(const agent::Start& a) const {
    return fmt::format("start {}@{} on {} #{}", to_string(a.spec.key), a.spec.item.version,
                       a.spec.runtime.value(), text(a.run));
  }
  std::string operator()(const agent::Stop& a) const {
    return fmt::format("stop {} on {} #{}", to_string(a.key), a.runtime.value(), text(a.run));
  }
  std::string operator()(const agent::CheckHealth& a) const {
    return fmt::format("check {}#{}", to_string(a.spec.key), text(a.run));
  }
  std::string operator()(const agent::SetPausing& a) const {
    return fmt::format("{} {}#{} order {}",
                       a.pausing == model::Pausing::Paused ? "pause" : "resume", to_string(a.key),
                       text(a.run), a.order);
  }
  std::string operator()(const agent::ApplyNetwork& a) const {
    return fmt::format("apply {}", text(a.network));
  }
  std::string operator()(const agent::EraseData& a) const {
    return fmt::format("erase {}", to_string(a.key));
  }
  std::string operator()(const agent::TidyImages& a) const {
    return fmt::format("tidy images but {}", a.wanted.size());
  }
};

struct Answer {
  std::string operator()(const control::Accepted& a) const {
    return fmt::format("accepted {} refused {}", a.revision, a.refused.size());
  }
  std::string operator()(const control::Finished& a) const {
    return fmt::format("finished{} {}", a.timed_out ? " by timeout" : "", a.statuses.size());
  }
  std::string operator()(const model::SessionStatus& a) const {
    return fmt::format("session {} {} {}", text(a.ref), to_string(a.state), a.reason.reason);
  }
  std::string operator()(const control::SessionBusy& a) const {
    return fmt::format("busy, retry after {} ms", a.retry_after / 1ms);
  }
  std::string operator()(const Error& e) const { return fmt::format("error {}", e.message); }
};

}  // namespace

std::string describe(const model::Command& command) {
  std::string line = fmt::format("command {}", text(command.number));
  line += command.base ? fmt::format(" on {}", text(*command.base)) : " full";
  for (const model::InstanceSpec& spec : command.run) {
    line += fmt::format(" +{}@{}", to_string(spec.key), spec.item.version);
  }
  for (const model::InstanceKey& key : command.stop) line += fmt::format(" -{}", to_string(key));
  for (const model::InstanceKey& key : command.keep) line += fmt::format(" ={}", to_string(key));
  if (command.network) line += ", " + text(*command.network);
  for (const model::SavedState& state : command.states) line += " " + text(state);
  for (const model::InstanceKey& key : command.erase) line += fmt::format(" x{}", to_string(key));
  if (command.report_fully) line += " report fully";
  return line;
}

std::string describe(const model::PoolCommand& command) {
  std::string line =
      fmt::format("pool command {}.{}.{}", command.epoch, command.life, command.number);
  for (const model::PoolOrder& order : command.orders) {
    line += ", " + std::visit(PoolOrderText{}, order);
  }
  return line;
}

std::string describe(const model::Report& report) {
  std::string line = fmt::format("{} {} r{} acted {}", is_heartbeat(report) ? "beat" : "report",
                                 report.boot_id, report.revision, text(report.acted));
  if (report.full) line += " full";
  for (const model::ReportedStatus& status : report.instances) line += " " + text(status);
  for (const model::InstanceKey& key : report.gone) line += fmt::format(" -{}", to_string(key));
  for (const model::SavedState& state : report.states) line += " " + text(state);
  if (report.pool) line += ", " + text(*report.pool);
  return line;
}

std::string describe(const control::Event& event) { return std::visit(ControlEvent{}, event); }

std::string describe(const control::Reply& reply) {
  return fmt::format("reply {} {}", reply.call, std::visit(Answer{}, reply.answer));
}

std::string describe(const control::SessionReply& reply) {
  return fmt::format("reply {} {}", reply.call, std::visit(Answer{}, reply.answer));
}

std::string describe(const agent::Event& event) { return std::visit(AgentEvent{}, event); }

std::string describe(const agent::Action& action) { return std::visit(ActionText{}, action); }

std::string describe(const agent::PoolAction& action) {
  return std::visit(PoolActionText{}, action);
}

}  // namespace berth::sim
