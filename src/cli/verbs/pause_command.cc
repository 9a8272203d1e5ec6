#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <ostream>
#include <set>

#include "cli/ask/connection.h"
#include "cli/ask/interruption.h"
#include "cli/ask/objects.h"
#include "cli/ask/watching.h"
#include "cli/flags.h"
#include "cli/show/table.h"
#include "cli/show/views.h"
#include "cli/verbs/verb.h"

// `berth pause` and `berth resume`: whether an instance stands still.
namespace berth::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct PauseFlags {
  ConnectionFlags connection;
  std::vector<std::string> instances;
  std::optional<Duration> timeout;
  bool no_wait = false;
};

// What the two verbs differ in.
struct Words {
  const char* verb;
  const char* done;
  const char* failure;  // the reason of an instance that was tried and could not be
  const char* examples;
  bool (*is_so)(v1::InstanceState state);
};

constexpr Words kPause{
    "pause", "paused", "PauseFailed",
    "Examples:\n"
    "  berth pause web/vehicle/0             and wait until it stands still\n"
    "  berth pause web/vehicle/0 --no-wait\n"
    "  berth resume web/vehicle/0            it goes on where it was\n"
    "\n"
    "A paused instance keeps its place, its memory and its address, and uses no processor. It "
    "stays\n"
    "paused when it is started again, moved or updated, until it is resumed or deleted.\n"
    "Ctrl-C is safe: it will be paused all the same.\n"
    "Exit codes: 0 it is paused, 1 it cannot be at present, 4 no such instance, 5 timeout, 6 "
    "cannot\n"
    "reach the control plane, 130 interrupted.",
    [](v1::InstanceState state) { return state == v1::PAUSED; }};

constexpr Words kResume{
    "resume", "resumed", "ResumeFailed",
    "Examples:\n"
    "  berth resume web/vehicle/0            and wait until it goes on\n"
    "  berth resume web/vehicle/0 --no-wait\n"
    "\n"
    "Ctrl-C is safe: it will go on all the same.\n"
    "Exit codes: 0 it goes on, 1 it cannot at present, 4 no such instance, 5 timeout, 6 cannot\n"
    "reach the control plane, 130 interrupted.",
    [](v1::InstanceState state) { return state == v1::ACTIVE; }};

// Why it is not so, and will not be soon. Empty: it is on its way.
std::string obstacle(const v1::Instance& instance, const Words& words, bool is_reachable) {
  const v1::Problem& problem = instance.problem();
  if (problem.reason() == words.failure) return problem.message() + "; it is tried again";
  if (!is_reachable) return "its node is not reachable; it will be so when that is back";
  if (instance.state() == v1::FAILED) return "it is " + state_text(instance) + "; see berth why";
  if (instance.state() == v1::INACTIVE) return "it does not run: " + state_text(instance);
  return "";
}

class Pausing {
 public:
  Pausing(const PauseFlags& flags, const Words& words, Console& console)
      : flags_(flags), words_(words), console_(console) {
    if (flags.timeout) end_ = Clock::now() + *flags.timeout;
  }

  Result<ExitCode> run() {
    const client::Client client = TRY(connect(flags_.connection));
    const v1::Instances all = TRY(list_instances(client, {.all = true}));
    std::vector<model::InstanceKey> keys;
    for (const std::string& name : flags_.instances) {
      for (const model::InstanceKey& key : TRY(all_meant(all, name))) keys.push_back(key);
    }
    for (const model::InstanceKey& key : keys) TRY(order(client, key));
    if (flags_.no_wait) return ExitCode::Done;
    left_.insert(keys.begin(), keys.end());
    return wait(client);
  }

 private:
  // All of an item, or of what it runs for a subject; or the one that is named.
  static Result<std::vector<model::InstanceKey>> all_meant(const v1::Instances& all,
                                                           const std::string& name) {
    std::vector<model::InstanceKey> meant;
    for (const v1::Instance& instance : all.instances()) {
      const model::InstanceKey key = key_of(instance.key());
      if (model::to_string(key).starts_with(name + "/")) meant.push_back(key);
    }
    if (meant.empty()) meant.push_back(key_of(TRY(pick_instance(all, name))->key()));
    return meant;
  }

  Result<void> order(const client::Client& client, const model::InstanceKey& key) {
    v1::InstanceRequest request;
    request.set_instance(model::to_string(key));
    const v1::Revision revision = TRY(client::call<v1::Revision>(
        client, {.method = client::Method::Post,
                 .path = fmt::format("/v1/instances/{}/{}", instance_path(key), words_.verb),
                 .body = &request}));
    console_.out << fmt::format("instance/{} to be {} (revision {})\n",
                                printable(model::to_string(key)), words_.done, revision.revision())
                 << std::flush;
    return {};
  }

  Result<ExitCode> wait(const client::Client& client) {
    const Interruption interruption;
    bool late = false;
    const auto on_tick = [&] {
      late = Clock::now() >= end_;
      return !late && !interruption.requested();
    };
    const auto on_event = [&](const v1::WatchEvent&) {
      if (mirror_.synced) look();
      return !left_.empty() || !mirror_.synced;
    };
    TRY(watch(client, mirror_, {.on_event = on_event, .tick = on_tick}));
    if (left_.empty()) return has_failed_ ? ExitCode::OtherError : ExitCode::Done;
    console_.err << fmt::format("\n{}; what was asked for stays so\n",
                                late ? "Not done in time" : "Interrupted");
    return late ? ExitCode::Timeout : ExitCode::Interrupted;
  }

  void look() {
    std::erase_if(left_, [this](const model::InstanceKey& key) { return is_settled(key); });
  }

  bool is_settled(const model::InstanceKey& key) {
    const std::string name = "instance/" + printable(model::to_string(key));
    const auto found = mirror_.instances.find(key);
    if (found == mirror_.instances.end()) return fail(name, "it is gone");
    const v1::Instance& instance = found->second;
    const std::string why = obstacle(instance, words_, is_reachable(instance.place().node()));
    if (why.empty() && words_.is_so(instance.state())) {
      console_.out << fmt::format("{} is {}\n", name, words_.done) << std::flush;
      return true;
    }
    return !why.empty() && fail(name, why);
  }

  bool is_reachable(const std::string& node) const {
    const auto found = mirror_.nodes.find(node);
    return found == mirror_.nodes.end() || found->second.liveness() == "reachable";
  }

  bool fail(const std::string& name, const std::string& why) {
    console_.err << fmt::format("{} is not {}: {}\n", name, words_.done, printable(why));
    has_failed_ = true;
    return true;
  }

  const PauseFlags& flags_;
  const Words& words_;
  Console& console_;
  Mirror mirror_;
  std::set<model::InstanceKey> left_;  // not yet so
  bool has_failed_ = false;
  Clock::time_point end_ = Clock::time_point::max();
};

Command declare_pause(CLI::App& verb, const Words& words) {
  const auto flags = std::make_shared<PauseFlags>();
  verb.add_option("INSTANCE", flags->instances,
                  "item/subject/index, or all of an item or of item/subject")
      ->type_name("")
      ->required()
      ->expected(1, -1);
  add_duration(verb, "--timeout", flags->timeout, "Stop waiting after this")
      ->envname("BERTH_TIMEOUT");
  verb.add_flag("--no-wait", flags->no_wait, "Do not wait until it is so")
      ->envname("BERTH_NO_WAIT");
  declare_connection_flags(verb, flags->connection);
  verb.footer(words.examples);
  return [flags, &words](Console& console) { return Pausing(*flags, words, console).run(); };
}

Command declare_pause(CLI::App& verb) { return declare_pause(verb, kPause); }
Command declare_resume(CLI::App& verb) { return declare_pause(verb, kResume); }

}  // namespace

const Verb pause_verb{"pause", "Have an instance stand still", declare_pause};
const Verb resume_verb{"resume", "Have a paused instance go on", declare_resume};

}  // namespace berth::cli
