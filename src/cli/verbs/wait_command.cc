#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <ostream>

#include "cli/ask/condition.h"
#include "cli/ask/connection.h"
#include "cli/flags.h"
#include "cli/show/table.h"
#include "cli/verbs/verb.h"

// `berth wait`: until something is so.
namespace berth::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kWaitExamples =
    "Examples:\n"
    "  berth wait --for instance/web=active --timeout 30s\n"
    "  berth wait --for node/n1=reachable --for node/n2=reachable\n"
    "  berth wait --for deployment/base=active      everything that it runs\n"
    "  berth wait --for instance/web/vehicle/1=gone\n"
    "\n"
    "States of instances and deployments: active, activating, inactive, failed, paused, gone; of\n"
    "nodes: ready, notready, reachable, unreachable, lost, unknown, cordoned, schedulable, empty,\n"
    "gone.\n"
    "Active is what has passed its health check, or has been active for minHealthy; a deployment\n"
    "also if its instances have done their work. What is not there yet is waited for, too; only a\n"
    "deployment must be there. What is on a node that is away is not waited for: to do so, wait "
    "for\n"
    "the node as well.\n"
    "Exit codes: 0 it is so, 2 all that is missing is on nodes that are away, 3 invalid input, 4 "
    "no\n"
    "such deployment, 5 timeout, 6 cannot reach the control plane.";

struct WaitFlags {
  ConnectionFlags connection;
  std::vector<std::string> conditions;
  std::optional<Duration> timeout;
};

struct Awaited {
  Condition condition;
  std::vector<Run> runs;  // of a deployment
};

Result<Awaited> awaited(const client::Client& client, const std::string& text) {
  Awaited one{TRY(parse_condition(text)), {}};
  if (one.condition.kind != Kind::Deployment) return one;
  const v1::Documents all = TRY(list_documents(client, Kind::Deployment));
  const auto found = pick_documents(all, Kind::Deployment, one.condition.name);
  if (!found && one.condition.value == "gone") return one;
  if (!found) return found.error();
  one.runs = runs_of(*found->front());
  return one;
}

Result<ExitCode> run(const WaitFlags& flags, Console& console) {
  for (const std::string& text : flags.conditions) TRY(parse_condition(text));
  const client::Client client = TRY(connect(flags.connection));
  std::vector<Awaited> all;
  for (const std::string& text : flags.conditions) all.push_back(TRY(awaited(client, text)));
  const auto end = flags.timeout ? Clock::now() + *flags.timeout : Clock::time_point::max();
  Mirror mirror;
  const auto is_so = [&](const Awaited& one) { return holds(one.condition, mirror, one.runs); };
  const auto is_so_or_away = [&](const Awaited& one) {
    return is_so(one) || waits_only_for_nodes_that_are_away(one.condition, mirror, one.runs);
  };
  bool done = false;
  bool away = false;
  const auto on_event = [&](const v1::WatchEvent&) {
    done = mirror.synced && std::ranges::all_of(all, is_so);
    away = !done && mirror.synced && std::ranges::all_of(all, is_so_or_away);
    return !done && !away;
  };
  TRY(watch(client, mirror, {.on_event = on_event, .tick = [&] { return Clock::now() < end; }}));
  for (const Awaited& one : all) {
    if (done) {
      console.out << fmt::format("{} holds\n", printable(to_string(one.condition)));
    } else if (!is_so(one)) {
      console.err << fmt::format("{} does not hold{}: {}\n", printable(to_string(one.condition)),
                                 away ? "" : " in time",
                                 printable(state_instead(one.condition, mirror, one.runs)));
    }
  }
  if (away) return ExitCode::NotEverythingPlaced;
  return done ? ExitCode::Done : ExitCode::Timeout;
}

Command declare_wait(CLI::App& verb) {
  const auto flags = std::make_shared<WaitFlags>();
  verb.add_option("--for", flags->conditions, "KIND/NAME=STATE; repeatable: all must hold")
      ->type_name("CONDITION")
      ->required()
      ->envname("BERTH_FOR");
  add_duration(verb, "--timeout", flags->timeout, "Give up after this; left out: never")
      ->envname("BERTH_TIMEOUT");
  declare_connection_flags(verb, flags->connection);
  verb.footer(kWaitExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb wait_verb{"wait", "Wait until an instance, node or deployment is in a state",
                     declare_wait};

}  // namespace berth::cli
