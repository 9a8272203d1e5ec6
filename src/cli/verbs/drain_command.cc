#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <set>

#include "cli/ask/connection.h"
#include "cli/ask/interruption.h"
#include "cli/ask/node_call.h"
#include "cli/ask/objects.h"
#include "cli/ask/watching.h"
#include "cli/flags.h"
#include "cli/show/figures.h"
#include "cli/show/live_table.h"
#include "cli/show/table.h"
#include "cli/show/terminal.h"
#include "cli/show/views.h"
#include "cli/verbs/verb.h"

// `berth drain`: empties a node.
namespace berth::cli {
namespace {

using Clock = std::chrono::steady_clock;

// So long a silent node has to be away: what can go elsewhere is on its way then.
constexpr auto kAwayPatience = std::chrono::seconds(1);

constexpr const char* kDrainExamples =
    "Examples:\n"
    "  berth drain n1 -m \"new disk\"          and wait until it is empty\n"
    "  berth drain n1 --deadline 10m         what has not moved by then is stopped\n"
    "  berth drain n1 --no-wait\n"
    "  berth uncordon n1                     ends the drain\n"
    "\n"
    "Ctrl-C is safe: the drain goes on.\n"
    "Exit codes: 0 the node is empty, and what was on it is well elsewhere, 1 it is empty, but\n"
    "not everything is well elsewhere, 2 the node is away, and whether it is empty is not known,\n"
    "4 no such node, 5 timeout, 6 cannot reach the control plane, 130 interrupted.";

struct DrainFlags {
  ConnectionFlags connection;
  std::string node;
  std::string message;
  std::optional<Duration> deadline;
  std::optional<Duration> timeout;
  bool no_wait = false;
};

// Those that are still on the node.
std::vector<v1::Instance> left_on(const Mirror& mirror, const std::string& node) {
  std::vector<v1::Instance> left;
  for (const auto& [key, instance] : mirror.instances) {
    if (instance.place().node() == node) left.push_back(instance);
  }
  return left;
}

class Drain {
 public:
  Drain(const DrainFlags& flags, Console& console)
      : flags_(flags), console_(console), canvas_(console.out) {
    if (flags.timeout) end_ = Clock::now() + *flags.timeout;
  }

  Result<ExitCode> wait(const client::Client& client) {
    const Interruption interruption;
    const auto on_tick = [&] {
      ++tick_;
      late_ = Clock::now() >= end_;
      if (console_.live && mirror_.synced) show();
      return !late_ && !interruption.requested() && !is_given_up();
    };
    const auto on_event = [&](const v1::WatchEvent&) {
      if (!mirror_.synced) return true;
      remember_who_is_up();
      if (!console_.live) show();
      return !is_done();
    };
    TRY(watch(client, mirror_, {.on_event = on_event, .tick = on_tick}));
    if (mirror_.synced && is_done()) return done();
    if (is_given_up()) return not_confirmed();
    console_.err << (late_ ? "\nNot empty in time" : "\nInterrupted")
                 << "; the drain goes on. berth uncordon " << flags_.node << " ends it.\n";
    return late_ ? ExitCode::Timeout : ExitCode::Interrupted;
  }

 private:
  bool is_empty() const {
    const auto node = mirror_.nodes.find(flags_.node);
    return node == mirror_.nodes.end() || node->second.services() == 0;
  }

  // nullptr: it is heard of, or forgotten.
  const v1::Node* node_away() const {
    const auto node = mirror_.nodes.find(flags_.node);
    return node != mirror_.nodes.end() && is_away(node->second) ? &node->second : nullptr;
  }

  // What had to stop first may still be coming up elsewhere.
  bool is_settled() const {
    return std::ranges::none_of(not_up_elsewhere(), [](const v1::Instance& one) {
      return one.state() != v1::FAILED && !one.away();
    });
  }
  bool is_done() const { return node_away() == nullptr && is_empty() && is_settled(); }

  // Nothing more can happen before the node is back, and nobody knows when that is.
  bool is_given_up() {
    if (!mirror_.synced || node_away() == nullptr) {
      away_since_.reset();
      return false;
    }
    if (!away_since_) away_since_ = Clock::now();
    return Clock::now() - *away_since_ >= kAwayPatience && is_settled();
  }

  ExitCode not_confirmed() {
    if (console_.live) canvas_.draw("", terminal_size(STDOUT_FILENO));
    const v1::Node& node = *node_away();
    const std::vector<v1::Instance> left = left_on(mirror_, flags_.node);
    console_.err << fmt::format(
        "node/{} is away, not heard of for {}: what runs there cannot be known, and that it is "
        "empty is not\nconfirmed. Last known to run there: {}{}\n",
        printable(flags_.node), short_duration(node.silent_for_ms()),
        counted(std::max<std::size_t>(node.services(), left.size()), "instance"),
        left.empty() ? "." : ", of which these have no other place:");
    for (const v1::Instance& instance : left) {
      console_.err << "  " << instance_line(instance, console_.err_style);
    }
    console_.err << "The drain goes on, and is carried out there when it is back. berth uncordon "
                 << printable(flags_.node) << " ends it.\n";
    return ExitCode::NotEverythingPlaced;
  }

  Result<ExitCode> done() {
    if (console_.live) canvas_.draw("", terminal_size(STDOUT_FILENO));
    console_.out << fmt::format("node/{} is empty\n", printable(flags_.node));
    const std::vector<v1::Instance> down = not_up_elsewhere();
    if (down.empty()) return ExitCode::Done;
    console_.err << fmt::format("{} {} not active elsewhere:\n", counted(down.size(), "instance"),
                                down.size() == 1 ? "is" : "are");
    for (const v1::Instance& instance : down) {
      console_.err << "  " << instance_line(instance, console_.err_style);
    }
    return ExitCode::OtherError;
  }

  // Of those that were on the node. What has gone altogether is asked for no longer.
  std::vector<v1::Instance> not_up_elsewhere() const {
    std::vector<v1::Instance> down;
    for (const model::InstanceKey& key : were_up_) {
      const auto instance = mirror_.instances.find(key);
      if (instance == mirror_.instances.end()) continue;
      if (!is_well(instance->second)) down.push_back(instance->second);
    }
    return down;
  }

  static bool is_up(const v1::Instance& instance) {
    return instance.state() == v1::ACTIVE || instance.state() == v1::PAUSED;
  }

  static bool is_well(const v1::Instance& instance) {
    return instance.proven() || instance.state() == v1::INACTIVE;
  }

  void remember_who_is_up() {
    for (const auto& [key, instance] : mirror_.instances) {
      if (instance.place().node() == flags_.node && is_up(instance)) were_up_.insert(key);
    }
  }

  void show() {
    if (node_away() != nullptr) return;  // a number would be a guess
    const auto left = left_on(mirror_, flags_.node);
    if (console_.live) {
      const TerminalSize size = terminal_size(STDOUT_FILENO);
      canvas_.draw(fmt::format("{} left\n{}", counted(left.size(), "instance"),
                               instances_table(left, Detail::Short).render(console_.out_style, 2)),
                   {size.rows, size.columns});
    } else if (left.size() != told_) {
      told_ = left.size();
      console_.out << counted(left.size(), "instance") << " left\n" << std::flush;
    }
  }

  const DrainFlags& flags_;
  Console& console_;
  Canvas canvas_;
  Mirror mirror_;
  std::set<model::InstanceKey> were_up_;
  std::optional<Clock::time_point> away_since_;
  Clock::time_point end_ = Clock::time_point::max();
  std::uint64_t tick_ = 0;
  std::size_t told_ = static_cast<std::size_t>(-1);
  bool late_ = false;
};

Result<ExitCode> run(const DrainFlags& flags, Console& console) {
  const client::Client client = TRY(connect(flags.connection));
  v1::DrainRequest request;
  request.set_node(flags.node);
  request.set_message(flags.message);
  if (flags.deadline) {
    request.set_deadline_ms(
        std::chrono::duration_cast<std::chrono::milliseconds>(*flags.deadline).count());
  }
  const v1::Revision revision = TRY(call_node(client, flags.node, "drain", request));
  console.out << fmt::format("node/{} draining (revision {})\n", printable(flags.node),
                             revision.revision())
              << std::flush;
  if (flags.no_wait) return ExitCode::Done;
  return Drain(flags, console).wait(client);
}

Command declare_drain(CLI::App& verb) {
  const auto flags = std::make_shared<DrainFlags>();
  verb.add_option("NODE", flags->node, "Which node")->type_name("")->required();
  add_duration(verb, "--deadline", flags->deadline, "Stop what has not moved by then")
      ->envname("BERTH_DEADLINE");
  verb.add_option("-m,--message", flags->message, "Why, for the events")
      ->type_name("TEXT")
      ->envname("BERTH_MESSAGE");
  add_duration(verb, "--timeout", flags->timeout, "Stop waiting after this; the drain goes on")
      ->envname("BERTH_TIMEOUT");
  verb.add_flag("--no-wait", flags->no_wait, "Do not wait until the node is empty")
      ->envname("BERTH_NO_WAIT");
  declare_connection_flags(verb, flags->connection);
  verb.footer(kDrainExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb drain_verb{"drain", "Move everything away from a node", declare_drain};

}  // namespace berth::cli
