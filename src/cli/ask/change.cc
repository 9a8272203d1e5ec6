#include "cli/ask/change.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "cli/ask/interruption.h"
#include "cli/ask/objects.h"
#include "cli/flags.h"
#include "cli/show/consequences.h"
#include "cli/show/figures.h"
#include "cli/show/live_table.h"
#include "cli/show/terminal.h"
#include "cli/show/views.h"
#include "placement/relief_text.h"

namespace berth::cli {
namespace {

using Clock = std::chrono::steady_clock;

// What the control plane has said about the documents so far.
class Progress {
 public:
  // Whether something is new.
  bool take(const v1::ApplyEvent& event) {
    if (event.has_accepted()) return take(event.accepted());
    if (event.has_status()) return put(event.status());
    finished_ = true;
    timed_out_ = event.finished().timed_out();
    superseded_by_ = event.finished().superseded_by();
    incomplete_ = {event.finished().incomplete().begin(), event.finished().incomplete().end()};
    rolled_back_ = {event.finished().rolled_back().begin(), event.finished().rolled_back().end()};
    for (const v1::Instance& instance : event.finished().instances()) put(instance);
    return true;
  }

  bool accepted() const { return accepted_; }
  bool finished() const { return finished_; }
  bool timed_out() const { return timed_out_; }
  const v1::Accepted& answer() const { return answer_; }
  const std::vector<v1::RolledBack>& rolled_back() const { return rolled_back_; }
  const std::vector<v1::Incomplete>& incomplete() const { return incomplete_; }
  std::uint64_t superseded_by() const { return superseded_by_; }

  std::vector<v1::Instance> rows() const {
    std::vector<v1::Instance> rows;
    for (const auto& [key, instance] : instances_) rows.push_back(instance);
    return rows;
  }

  bool has_failed() const {
    for (const auto& [key, instance] : instances_) {
      if (instance.state() == v1::FAILED && !instance.away() && !refused_.contains(key))
        return true;
    }
    return false;
  }
  std::vector<v1::Instance> away() const {
    std::vector<v1::Instance> away;
    for (const v1::Instance& row : rows()) {
      if (row.away()) away.push_back(row);
    }
    return away;
  }
  // Neither well nor away. What stands still because its subject is absent is as it shall be.
  std::vector<v1::Instance> late() const {
    std::vector<v1::Instance> late;
    for (const v1::Instance& row : rows()) {
      if (!row.proven() && !row.away() && row.state() != v1::INACTIVE) late.push_back(row);
    }
    return late;
  }
  std::size_t refused() const { return refused_.size(); }
  std::size_t unrelieved() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        answer_.relief(), [](const v1::Relief& relief) { return relief.has_problem(); }));
  }

 private:
  bool take(const v1::Accepted& accepted) {
    accepted_ = true;
    answer_ = accepted;
    for (const v1::InstanceKey& key : accepted.instances()) {
      v1::Instance& instance = instances_[key_of(key)];
      *instance.mutable_key() = key;  // its state is not known yet
    }
    for (const v1::Refused& refused : accepted.refused()) {
      const model::InstanceKey key = key_of(refused.key());
      if (!is_ours(key)) continue;
      refused_.insert(key);
      *instances_[key].mutable_key() = refused.key();
      *instances_[key].mutable_problem() = refused.problem();
      instances_[key].set_state(v1::FAILED);
    }
    return true;
  }

  // Instances that others asked for are none of our business.
  bool put(const v1::Instance& instance) {
    const model::InstanceKey key = key_of(instance.key());
    if (!is_ours(key)) return false;
    if (instance.state() != v1::FAILED) refused_.erase(key);
    const v1::Instance before = std::exchange(instances_[key], instance);
    if (instance.gone()) instances_.erase(key);
    return instance.gone() || looks_different(before, instance);
  }

  bool is_ours(const model::InstanceKey& key) const {
    return answer_.instances_size() == 0 || instances_.contains(key);
  }

  static bool looks_different(const v1::Instance& a, const v1::Instance& b) {
    return state_text(a) != state_text(b) || a.place().node() != b.place().node() ||
           a.problem().message() != b.problem().message();
  }

  v1::Accepted answer_;
  std::map<model::InstanceKey, v1::Instance> instances_;
  std::set<model::InstanceKey> refused_;
  bool accepted_ = false;
  bool finished_ = false;
  bool timed_out_ = false;
  std::vector<v1::RolledBack> rolled_back_;
  std::vector<v1::Incomplete> incomplete_;
  std::uint64_t superseded_by_ = 0;
};

model::Usage usage_of(const v1::Usage& usage) { return {Dmips(usage.cpu()), Bytes(usage.ram())}; }

// "n1: cpu 92.0 % -> 71.5 %, min 75.0 %; web/vehicle/0 leaves"
std::string relief_line(const v1::Relief& message) {
  const placement::Relief relief{
      .node = model::NodeId(message.node()),
      .overloaded = {.cpu = message.cpu_overloaded(), .ram = message.ram_overloaded()},
      .capacity = usage_of(message.capacity()),
      .before = usage_of(message.before()),
      .planned = usage_of(message.planned()),
      .goal = usage_of(message.goal()),
      .leaving = {},
      .unrelieved = std::nullopt,
      .detail = {}};
  const std::string end = message.has_problem() ? "not relieved: " + message.problem().message()
                                                : fmt::format("{} leaving", message.leaving_size());
  return printable(fmt::format("{}: {}; {}", message.node(), usage_text(relief), end)) + "\n";
}

Json relief_json(const v1::Accepted& accepted) {
  Json list = Json::array();
  for (const v1::Relief& relief : accepted.relief()) {
    Json leaving = Json::array();
    for (const v1::InstanceKey& key : relief.leaving()) leaving.push_back(to_string(key_of(key)));
    list.push_back({{"node", relief.node()},
                    {"leaving", leaving},
                    {"reason", relief.problem().reason()},
                    {"message", relief.problem().message()}});
  }
  return list;
}

Json rolled_back_json(const std::vector<v1::RolledBack>& all) {
  Json list = Json::array();
  for (const v1::RolledBack& one : all) {
    list.push_back({{"item", one.item()},
                    {"subject", one.subject()},
                    {"from", one.from()},
                    {"to", one.to()},
                    {"reason", one.problem().reason()},
                    {"message", one.problem().message()}});
  }
  return list;
}

void print_rolled_back(const Progress& progress, Console& console) {
  for (const v1::RolledBack& one : progress.rolled_back()) {
    if (one.from() == one.to()) {  // the same version, edited
      console.err << printable(one.problem().message())
                  << ". Those that have not been restarted keep running what they have; correct "
                     "the item and apply it again.\n";
      continue;
    }
    const std::string who =
        one.kept_back_size() > 0
            ? counted(static_cast<std::size_t>(one.kept_back_size()), "instance")
            : std::string("everything");
    console.err << fmt::format(
        "{} did not come up in version {}, {} went back to {}: {}\nApply again to try once more.\n",
        printable(one.item()), printable(one.to()), who, printable(one.from()),
        printable(one.problem().message()));
  }
}

Json incomplete_json(const std::vector<v1::Incomplete>& all) {
  Json list = Json::array();
  for (const v1::Incomplete& one : all) {
    list.push_back({{"item", one.item()},
                    {"subject", one.subject()},
                    {"version", one.version()},
                    {"updated", one.updated()},
                    {"total", one.total()},
                    {"away", std::vector<std::string>(one.away().begin(), one.away().end())}});
  }
  return list;
}

std::string since_text(const v1::Instance& instance) {
  return instance.since_ms() == 0 ? "" : "  since " + local_time(instance.since_ms());
}

// "  web/default/0  Activating(Pulling)  on n1  since ..."
std::string late_line(const v1::Instance& instance, const Style& style) {
  if (instance.state() == v1::INSTANCE_STATE_UNSPECIFIED) {
    return fmt::format("  {}  nothing is known of it yet\n", printable(name_of(instance)));
  }
  std::string line = instance_line(instance, style);
  line.pop_back();
  const bool is_up = instance.state() == v1::ACTIVE && !instance.has_moving_to();
  return fmt::format("  {}{}{}\n", line, since_text(instance),
                     is_up ? ", and has yet to show that it stays up" : "");
}

// Whoever waits knows then whom for.
void print_late(const Progress& progress, Console& console) {
  const std::vector<v1::Instance> late = progress.late();
  console.err << "Not everything was proven to be well in time; what was accepted goes on";
  console.err << (late.empty() ? ".\n" : ":\n");
  for (const v1::Instance& instance : late) console.err << late_line(instance, console.err_style);
}

constexpr std::size_t kNamedMax = 10;

// Before there was an answer nobody but the files says whom it is about.
void print_undecided(const ChangeFlags& flags, Console& console) {
  console.err
      << "No answer in time: whether this was accepted is not known; berth get events tells "
         "later, and\nit can be asked for again";
  console.err << (flags.asked_for.empty() ? ".\n" : ". Not decided yet:\n");
  for (std::size_t i = 0; i < std::min(kNamedMax, flags.asked_for.size()); ++i) {
    console.err << "  " << printable(flags.asked_for[i]) << '\n';
  }
  if (flags.asked_for.size() > kNamedMax) {
    console.err << fmt::format("  ... and {} more\n", flags.asked_for.size() - kNamedMax);
  }
}

void print_away(const std::vector<v1::Instance>& away, Console& console) {
  if (away.empty()) return;
  console.err << fmt::format("{} on nodes that are away, and not waited for:\n",
                             counted(away.size(), "instance"));
  for (const v1::Instance& instance : away) console.err << late_line(instance, console.err_style);
}

// "3 of 6 of web run version 2; 3 wait for node r3, which is away".
void print_incomplete(const Progress& progress, Console& console) {
  for (const v1::Incomplete& one : progress.incomplete()) {
    const std::uint32_t rest = one.total() - one.updated();
    const bool is_one = one.away_size() == 1;
    console.err << printable(
                       fmt::format("{} of {} of {} run version {}; {} {} for {} {}, which {} away",
                                   one.updated(), one.total(), one.item(), one.version(), rest,
                                   rest == 1 ? "waits" : "wait", is_one ? "node" : "nodes",
                                   fmt::join(one.away(), ", "), is_one ? "is" : "are"))
                << ". Nothing else is left to do; they follow by themselves.\n";
  }
}

// What people see while they wait: a table that is drawn again and again, or a line per change.
class Display {
 public:
  Display(const ChangeFlags& flags, Console& console)
      : console_(console),
        canvas_(console.out),
        silent_(!is_for_people(flags)),
        detail_(flags.output == "wide" ? Detail::Wide : Detail::Short) {}

  void changed(const v1::ApplyEvent& event, const Progress& progress) {
    if (event.has_accepted()) show_answer(event.accepted(), progress);
    if (silent_) return;
    if (console_.live) return draw(progress);
    if (event.has_status()) console_.out << instance_line(event.status(), console_.out_style);
    console_.out.flush();
  }

  void tick(const Progress& progress) {
    ++tick_;
    if (console_.live && !silent_ && progress.accepted()) draw(progress);
  }

 private:
  static bool is_for_people(const ChangeFlags& flags) {
    return !flags.no_wait && (flags.output == "table" || flags.output == "wide");
  }

  void show_answer(const v1::Accepted& accepted, const Progress& progress) {
    for (const std::string& warning : accepted.warnings()) {
      console_.err << printable(warning) << '\n';
    }
    const std::size_t others = static_cast<std::size_t>(accepted.refused_size()) -
                               progress.refused() + accepted.refused_others();
    if (others > 0) {
      console_.err << fmt::format(
          "{} of other deployments cannot be placed; see berth get instances.\n",
          counted(others, "instance"));
    }
    if (silent_) return;
    console_.out << fmt::format("Accepted as revision {}.\n", accepted.revision())
                 << consequences_text(accepted.consequences(), detail_, console_.out_style);
    for (const v1::Relief& relief : accepted.relief()) console_.out << relief_line(relief);
    if (console_.live) return;
    for (const v1::Instance& row : progress.rows()) {
      if (row.state() == v1::FAILED) console_.out << instance_line(row, console_.out_style);
    }
  }

  void draw(const Progress& progress) {
    const TerminalSize size = terminal_size(STDOUT_FILENO);
    const std::vector<v1::Instance> rows = progress.rows();
    canvas_.draw(
        live_table({.rows = rows, .size = size, .tick = tick_, .style = console_.out_style}), size);
  }

  Console& console_;
  Canvas canvas_;
  bool silent_;
  Detail detail_;
  std::uint64_t tick_ = 0;
};

// What everything has come to, in the form that was asked for.
void print_end(const ChangeFlags& flags, const Progress& progress, Console& console) {
  const std::vector<v1::Instance> rows = progress.rows();
  if (flags.output == "json" || flags.output == "yaml") {
    Json list = Json::array();
    for (const v1::Instance& row : rows) list.push_back(json_of(row));
    const Json answer{{"revision", progress.answer().revision()},
                      {"refused", progress.refused()},
                      {"timedOut", progress.timed_out()},
                      {"rolledBack", rolled_back_json(progress.rolled_back())},
                      {"incomplete", incomplete_json(progress.incomplete())},
                      {"supersededBy", progress.superseded_by()},
                      {"instances", list},
                      {"consequences", json_of(progress.answer().consequences())},
                      {"relief", relief_json(progress.answer())}};
    console.out << (flags.output == "json" ? json_text(answer) : yaml_text(answer));
  } else if (flags.output == "name") {
    for (const v1::Instance& row : rows) console.out << "instance/" << name_of(row) << '\n';
  } else if (flags.no_wait) {
    console.out << fmt::format("Accepted as revision {}: {}\n", progress.answer().revision(),
                               counted(rows.size(), "instance"))
                << consequences_text(progress.answer().consequences(), Detail::Short,
                                     console.out_style);
    for (const v1::Relief& relief : progress.answer().relief()) console.out << relief_line(relief);
    for (const v1::Instance& row : rows) {
      if (row.state() == v1::FAILED) console.out << "  " << instance_line(row, console.out_style);
    }
  } else if (rows.empty() && flags.when_nothing_changes != nullptr) {
    console.out << flags.when_nothing_changes << '\n';
  } else if (!console.live || rows.empty()) {
    console.out << count_of_states(rows) << '\n';
  }
}

Result<ExitCode> interrupted(const Progress& progress, Console& console) {
  if (progress.accepted()) {
    console.err << fmt::format(
        "\nInterrupted. Revision {} is accepted and goes on without you; berth get instances shows "
        "how far it is.\n",
        progress.answer().revision());
  } else {
    console.err << "\nInterrupted before the answer came: berth get events tells whether it was "
                   "accepted.\n";
  }
  return ExitCode::Interrupted;
}

ExitCode exit_code_of_change(const Progress& progress, Console& console) {
  if (progress.superseded_by() > 0) {
    console.err << fmt::format(
        "Superseded by revision {}: somebody has asked for something else since.\n",
        progress.superseded_by());
    return ExitCode::OtherError;
  }
  if (progress.refused() > 0) {
    console.err << fmt::format("{} could not be placed; berth why INSTANCE tells why.\n",
                               counted(progress.refused(), "instance"));
    return ExitCode::NotEverythingPlaced;
  }
  if (progress.unrelieved() > 0) {
    console.err << counted(progress.unrelieved(), "overloaded node") << " cannot be relieved.\n";
    return ExitCode::NotEverythingPlaced;
  }
  if (progress.timed_out()) {
    print_late(progress, console);
    return ExitCode::Timeout;
  }
  const std::vector<v1::Instance> away = progress.away();
  print_rolled_back(progress, console);
  print_incomplete(progress, console);
  print_away(away, console);
  if (!progress.rolled_back().empty() || progress.has_failed()) return ExitCode::OtherError;
  const bool is_everything_there = progress.incomplete().empty() && away.empty();
  return is_everything_there ? ExitCode::Done : ExitCode::NotEverythingPlaced;
}

}  // namespace

void declare_change_flags(CLI::App& verb, ChangeFlags& flags) {
  verb.add_flag("--no-wait", flags.no_wait, "Do not wait until everything is in place")
      ->envname("BERTH_NO_WAIT");
  add_duration(verb, "--timeout", flags.timeout,
               "Stop waiting after this; what was accepted goes on")
      ->envname("BERTH_TIMEOUT");
  add_output_flag(verb, flags.output);
}

Result<ExitCode> run_change(const client::Client& client, const client::Request& request,
                            const ChangeFlags& flags, Console& console) {
  const Interruption interruption;
  const auto deadline = flags.timeout ? Clock::now() + *flags.timeout : Clock::time_point::max();
  Progress progress;
  Display display(flags, console);
  bool late = false;
  const auto on_event = [&](const v1::ApplyEvent& event) {
    if (progress.take(event)) display.changed(event, progress);
    return !progress.finished() && !(flags.no_wait && progress.accepted());
  };
  const auto on_tick = [&] {
    display.tick(progress);
    late = Clock::now() >= deadline;
    return !late && !interruption.requested();
  };
  const Result<void> ended = client::stream<v1::ApplyEvent>(client, request, on_event, on_tick);
  if (interruption.requested()) return interrupted(progress, console);
  if (!ended && !progress.accepted()) return ended.error();
  if (late) {
    print_end(flags, progress, console);
    progress.accepted() ? print_late(progress, console) : print_undecided(flags, console);
    return ExitCode::Timeout;
  }
  if (!progress.finished() && !flags.no_wait) {
    if (!ended && exit_code_of(ended.error()) == ExitCode::Timeout) return ended.error();
    return Error{Code::Unavailable,
                 "the control plane went away before everything was in place; what was accepted "
                 "goes on. berth get instances shows how far it is."};
  }
  print_end(flags, progress, console);
  return exit_code_of_change(progress, console);
}

}  // namespace berth::cli
