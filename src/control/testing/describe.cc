#include "control/testing/describe.h"

#include <fmt/ranges.h>

namespace berth::control {

std::string describe(const model::InstanceStatus& status) {
  std::string text =
      fmt::format("{} {}", model::to_string(status.key), model::to_string(status.state));
  if (!status.problem.reason.empty()) text += "(" + status.problem.reason + ")";
  if (status.place) text += " on " + model::to_string(*status.place);
  if (!status.version.empty()) text += ", version " + status.version;
  if (status.moving_to) text += ", moving to " + model::to_string(*status.moving_to);
  if (status.unverified) text += ", unverified";
  if (!status.problem.message.empty()) text += ": " + status.problem.message;
  return text;
}

namespace {

// "[acme 10.128.0.1 with 192.168.0.2; 10.128.0.2 web; 10.128.0.2 -> 10.128.16.2:80]"
std::string describe(const model::NodeNetwork& network) {
  std::vector<std::string> parts;
  for (const model::ProviderNetwork& one : network.networks) {
    std::string& part = parts.emplace_back(
        fmt::format("{} {}", one.owner.value(), model::to_string(one.node_address)));
    for (const model::Ipv4 peer : one.peers) part += " with " + model::to_string(peer);
  }
  for (const model::NamedAddress& named : network.names) {
    parts.push_back(
        fmt::format("{} {}", model::to_string(named.address), fmt::join(named.names, " ")));
  }
  for (const model::AllowedFlow& flow : network.flows) {
    parts.push_back(fmt::format("{} -> {}:{}", model::to_string(flow.from),
                                model::to_string(flow.to), flow.port.number));
  }
  return fmt::format("[{}]", fmt::join(parts, "; "));
}

}  // namespace

std::string describe(const Outgoing& outgoing) {
  const model::Command& command = outgoing.command;
  std::string text = fmt::format("{} <- #{}", outgoing.node.value(), command.number.number);
  if (command.report_fully) return text + " report fully";
  text += command.base ? fmt::format(" after #{}", command.base->number) : " all:";
  for (const model::InstanceSpec& spec : command.run) {
    text += fmt::format(" +{}@{} on {}", model::to_string(spec.key), spec.item.version,
                        spec.runtime.value());
    if (spec.network) text += " at " + model::to_string(spec.network->address);
    if (spec.paused) text += " paused";
    if (spec.prepare_only) text += " prepared only";
  }
  for (const model::InstanceKey& key : command.stop) text += " -" + model::to_string(key);
  for (const model::InstanceKey& key : command.keep) text += " =" + model::to_string(key);
  const bool says_nothing =
      !command.network || (!command.base && command.network->networks.empty());
  if (!says_nothing) text += " " + describe(*command.network);
  for (const model::InstanceKey& key : command.erase) text += " x" + model::to_string(key);
  return text;
}

std::string describe(const Note& note) {
  std::string text(to_string(note.kind));
  if (!note.about.empty()) text += " " + note.about;
  return note.text.empty() ? text : text + ": " + note.text;
}

std::vector<std::string> describe(const Reply& reply) {
  std::vector<std::string> lines;
  const std::string who = fmt::format("call {} ", reply.call);
  if (const auto* error = std::get_if<Error>(&reply.answer)) {
    lines.push_back(fmt::format("{}refused: {}: {}", who, to_string(error->code), error->message));
  } else if (const auto* accepted = std::get_if<Accepted>(&reply.answer)) {
    lines.push_back(fmt::format("{}accepted at revision {}", who, accepted->revision));
    for (const auto& [key, problem] : accepted->refused) {
      lines.push_back(fmt::format("  {} {}", model::to_string(key), problem.reason));
    }
    if (accepted->refused_others > 0) {
      lines.push_back(fmt::format("  {} others wait", accepted->refused_others));
    }
  } else if (const auto* finished = std::get_if<Finished>(&reply.answer)) {
    lines.push_back(who + (finished->timed_out ? "timed out" : "finished"));
    for (const auto& status : finished->statuses) lines.push_back("  " + describe(status));
    for (const auto& rollout : finished->rolled_back) {
      lines.push_back(fmt::format("  back to {}@{}: {}", rollout.item.value(), rollout.from,
                                  rollout.failed->message));
    }
    for (const Incomplete& one : finished->incomplete) {
      lines.push_back(fmt::format("  {}@{} on {} of {}, {} nodes away", one.item.value(),
                                  one.version, one.updated, one.total, one.away.size()));
    }
    if (finished->superseded_by) {
      lines.push_back(fmt::format("  superseded by revision {}", *finished->superseded_by));
    }
  }
  return lines;
}

std::string describe(const Write& write) {
  return fmt::format("{} {}/{}", write.record ? "put" : "erase", static_cast<int>(write.table),
                     write.key);
}

std::vector<std::string> describe(const Effects& effects) {
  std::vector<std::string> lines;
  for (const Write& write : effects.writes) lines.push_back(describe(write));
  for (const Outgoing& outgoing : effects.commands) lines.push_back(describe(outgoing));
  for (const Reply& reply : effects.replies) {
    for (std::string& line : describe(reply)) lines.push_back(std::move(line));
  }
  for (const auto& status : effects.changes) lines.push_back(describe(status));
  for (const Note& note : effects.notes) lines.push_back(describe(note));
  return lines;
}

}  // namespace berth::control
