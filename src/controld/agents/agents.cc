#include "controld/agents/agents.h"

#include <chrono>
#include <string>
#include <utility>

#include "codec/wire.h"
#include "shell/log.h"
#include "trust/digest.h"

namespace berth::controld {
namespace {

// "192.0.2.7:51840", "[::1]:51840": without the port and the brackets.
std::string host_of(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  return host;
}

}  // namespace

using shell::LogLevel;

Agents::Agents(Loop& loop, StreamRelay& streams, shell::Workers& workers,
               const ServerIdentity& identity, const Receipts& receipts, Links links)
    : loop_(loop),
      streams_(streams),
      workers_(workers),
      identity_(identity),
      receipts_(receipts),
      links_(std::move(links)) {}

link::ServerEndListener Agents::listener() {
  return {
      .connected = [this](const std::string& node, std::uint64_t connection,
                          const std::string& address,
                          const v1::Hello& hello) { connected(node, connection, address, hello); },
      .disconnected = [this](const std::string& node,
                             std::uint64_t connection) { disconnected(node, connection); },
      .received = [this](const std::string& node, std::uint64_t connection,
                         v1::FromAgent message) { return received(node, connection, message); },
  };
}

void Agents::connected(const std::string& node, std::uint64_t connection,
                       const std::string& address, const v1::Hello& hello) {
  shell::log(LogLevel::Info, "agent connected",
             {{"node", node}, {"address", address}, {"version", hello.version()}});
  const std::string host = host_of(address);
  if (loop_.post(control::NodeConnected{model::NodeId(node), connection, host})) return;
  links_.disconnect(connection, "the control plane is too busy");
}

void Agents::disconnected(const std::string& node, std::uint64_t connection) {
  shell::log(LogLevel::Info, "agent disconnected", {{"node", node}});
  streams_.disconnected(connection);
  // If the loop is too busy to hear it, the silence will tell.
  if (!loop_.post(control::NodeDisconnected{model::NodeId(node), connection})) {
    shell::log(LogLevel::Warning, "too busy to note that an agent left", {{"node", node}});
  }
}

bool Agents::received(const std::string& node, std::uint64_t connection,
                      const v1::FromAgent& message) {
  switch (message.message_case()) {
    case v1::FromAgent::kReport: return reported(node, connection, message.report());
    case v1::FromAgent::kStream: streams_.received(connection, message.stream()); return true;
    case v1::FromAgent::kRenew: renew(node, connection, message.renew().request()); return true;
    default: break;
  }
  shell::log(LogLevel::Warning, "an agent said something unknown", {{"node", node}});
  return false;
}

bool Agents::reported(const std::string& node, std::uint64_t connection,
                      const v1::Report& message) {
  auto report = codec::from_wire(message);
  if (!report) {
    shell::log(LogLevel::Warning, "an agent's report is invalid",
               {{"node", node}, {"error", report.error().message}});
    return false;
  }
  for (const model::SavedState& state : report->states) {
    if (trust::sha256(state.content) == state.digest) continue;
    shell::log(LogLevel::Warning, "a state is not what its digest says",
               {{"node", node}, {"instance", model::to_string(state.key)}});
    return false;
  }
  // It may be of another unit, where the node has been before; or invented.
  if (report->receipt && !receipts_.is_genuine(model::NodeId(node), *report->receipt)) {
    shell::log(LogLevel::Warning, "a receipt was not sealed here; it is ignored", {{"node", node}});
    report->receipt.reset();
  }
  return loop_.post(control::NodeReported{model::NodeId(node), connection, std::move(*report)});
}

// For the node that the present certificate speaks for, and no other.
void Agents::renew(const std::string& node, std::uint64_t connection, const std::string& request) {
  const auto sign = [this, node, connection, request] {
    const auto certificate = identity_.authority().sign(
        request, {trust::Role::Node, node}, identity_.validity(), std::chrono::system_clock::now());
    if (!certificate) {
      shell::log(LogLevel::Warning, "a certificate cannot be renewed",
                 {{"node", node}, {"error", certificate.error().message}});
      return;
    }
    v1::ToAgent message;
    message.mutable_renewed()->set_certificate(*certificate);
    links_.send(connection, std::move(message));
  };
  if (!workers_.submit("renew", sign)) {
    shell::log(LogLevel::Warning, "too busy to renew a certificate", {{"node", node}});
  }
}

}  // namespace berth::controld
