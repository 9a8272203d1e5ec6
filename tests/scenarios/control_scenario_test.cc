#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "control/testing.h"
#include "control/testing/describe.h"
#include "transcript.h"

// Every file in control/ is a test of its own: the life of a small cluster, one verb after the
// other, and what the controller does about it. After each verb the agents answer until all is
// quiet; `[4s]` begins a step of the controller. Lines of a step: `*` notes, `<-` commands to
// agents (`+` runs, `-` stops), `=` statuses that listeners hear, and replies to calls.
namespace berth::scenarios {
namespace {

// In transcripts an agent says by a reason what it means by a hindrance.
model::Hindrance hindrance_of(const std::string& reason) {
  if (reason == "Pulling") return model::Hindrance::BeingFetched;
  if (reason == "RuntimeNotReady") return model::Hindrance::RuntimeNotReady;
  return model::Hindrance::None;
}

using namespace control;  // NOLINT: a scenario speaks the controller's language
using Words = std::vector<std::string>;

Words split(const std::string& text, char separator) {
  Words words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, separator);) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

std::int64_t number(const std::string& text) { return std::stoll(text); }

Duration duration(const std::string& text) {
  const bool millis = text.ends_with("ms");
  const auto count = number(text);
  return millis ? Duration{std::chrono::milliseconds{count}}
                : Duration{std::chrono::seconds{count}};
}

model::InstanceKey instance(const std::string& text) {
  const Words parts = split(text, '/');
  return key_of(parts.at(0), static_cast<std::uint32_t>(number(parts.at(2))), parts.at(1));
}

// "cpu=400": the word before and the one behind the sign; nothing behind it if there is no sign.
std::pair<std::string, std::string> option(const std::string& word) {
  const auto sign = word.find('=');
  if (sign == std::string::npos) return {word, ""};
  return {word.substr(0, sign), word.substr(sign + 1)};
}

[[noreturn]] void unknown(const std::string& word) {
  throw std::invalid_argument("unknown word: " + word);
}

model::Item item_of(const Words& words) {
  ItemBuilder item(words.at(1));
  item.min_healthy(0s);  // unless a scenario is about that, what is up counts as well
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto [name, value] = option(words[i]);
    if (name == "version") {
      item.version(value);
    } else if (name == "cpu") {
      item.cpu(number(value));
    } else if (name == "alert") {  // the quota
      item.cpu_alert(number(value), {.min = 50, .max = 90, .timeout = 10s});
    } else if (name == "minHealthy") {
      item.min_healthy(duration(value));
    } else if (name == "env") {
      item.env("env", value);
    } else if (name == "shared") {
      item.shared(value);
    } else if (name == "pinned") {
      item.pinned();
    } else if (name == "stopFirst") {
      item.stop_first();
    } else if (name == "state") {
      item.state(number(value));
    } else if (name == "lastCopy") {
      item.moves_last_copy();
    } else if (name == "component") {
      item.firmware();
    } else if (name == "vm") {
      item.vm();
    } else if (name == "tolerates") {
      item.tolerates(model::from_string<model::Toleration>(value).value());
    } else if (name == "owner") {
      item.owner(value);
    } else if (name == "port") {
      item.port(static_cast<std::uint16_t>(number(value)));
    } else if (name == "reach") {
      const Words parts = split(value, ':');
      item.may_reach(parts.at(0), static_cast<std::uint16_t>(number(parts.at(1))));
    } else if (name == "host") {
      item.host(value);
    } else {
      unknown(words[i]);
    }
  }
  return item;
}

model::RunRequest run_of(const Words& words) {
  RunBuilder run(words.at(2));
  for (std::size_t i = 3; i < words.size(); ++i) {
    const auto [name, value] = option(words[i]);
    if (name == "version") {
      run.version(value);
    } else if (name == "instances") {
      value == "all" ? run.on_all_runtimes() : run.times(static_cast<std::uint32_t>(number(value)));
    } else if (name == "priority") {
      run.priority(number(value));
    } else if (name == "label") {
      run.label(value);
    } else if (name == "on") {
      run.on(value);
    } else {
      unknown(words[i]);
    }
  }
  return run;
}

model::NodeInfo node_of(const Words& words) {
  NodeBuilder node;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto [name, value] = option(words[i]);
    if (name == "cpu") {
      node.cpu(number(value));
    } else if (name == "firmware") {
      node.with_firmware();
    } else if (name == "runtime") {
      node.runtime(value, model::from_string<model::RuntimeType>(value).value());
    } else if (name == "unmarked") {
      node.nothing_marked_primary();
    } else if (name == "address") {
      node.address(value);
    } else if (name == "shared") {
      const Words parts = split(value, ':');
      node.shared(parts.at(0), static_cast<std::uint32_t>(number(parts.at(1))));
    } else {
      unknown(words[i]);
    }
  }
  return node;
}

model::Manifest documents_of(const std::string& input) {
  model::Manifest manifest;
  std::map<std::string, model::Deployment> deployments;
  for (const std::string& line : split(input, '\n')) {
    const Words words = split(line, ' ');
    if (words.at(0) == "item") {
      manifest.push_back(item_of(words));
    } else if (words[0] == "run") {
      model::Deployment& deployment = deployments[words.at(1)];
      deployment.name = words[1];
      deployment.run.push_back(run_of(words));
    } else if (words[0] == "evictAfter") {
      model::NodeConfig config;
      config.name = "evictions";
      config.evict_after = duration(words.at(1));
      manifest.push_back(config);
    } else if (words[0] == "labels") {
      manifest.push_back(labels_of(words.at(1), {words.begin() + 2, words.end()}));
    } else {
      unknown(words[0]);
    }
  }
  for (const auto& [name, deployment] : deployments) manifest.push_back(deployment);
  return manifest;
}

class ControlScenario {
 public:
  std::string answer(const Step& step) {
    const auto verb = verbs().find(step.command);
    if (verb == verbs().end()) return "unknown verb\n";
    text_.clear();
    verb->second(*this, step);
    return text_.empty() ? "nothing\n" : text_;
  }

 private:
  using Verb = std::function<void(ControlScenario&, const Step&)>;

  static const std::map<std::string, Verb>& verbs() {
    using Self = ControlScenario&;
    static const std::map<std::string, Verb> kVerbs{
        {"node", [](Self self, const Step& step) { self.node(step.arguments); }},
        {"connect", [](Self self, const Step& step) { self.each(step, &Driver::connect); }},
        {"disconnect", [](Self self, const Step& step) { self.each(step, &Driver::disconnect); }},
        {"heartbeat", [](Self self, const Step& step) { self.each(step, &Driver::heartbeat); }},
        {"report", [](Self self, const Step& step) { self.each(step, &Driver::report_fully); }},
        {"apply", [](Self self, const Step& step) { self.apply(step.input); }},
        {"delete", [](Self self, const Step& step) { self.erase(step.arguments); }},
        {"drain", [](Self self, const Step& step) { self.drain(step.arguments); }},
        {"cordon", [](Self self, const Step& step) { self.cordon(step.arguments); }},
        {"pause",
         [](Self self, const Step& step) { self.pause(step.arguments, model::Pausing::Paused); }},
        {"resume",
         [](Self self, const Step& step) { self.pause(step.arguments, model::Pausing::Running); }},
        {"forget", [](Self self, const Step& step) { self.forget(step.arguments); }},
        {"advance", [](Self self, const Step& step) { self.advance(step.arguments); }},
        {"restart", [](Self self, const Step&) { self.restart(); }},
        {"agent", [](Self self, const Step& step) { self.change_agent(step.arguments); }},
        {"status", [](Self self, const Step& step) { self.set_status(step.arguments); }},
        {"uses", [](Self self, const Step& step) { self.set_usage(step.arguments); }},
        {"gone", [](Self self, const Step& step) { self.drop(step.arguments); }},
        {"stray", [](Self self, const Step& step) { self.find(step.arguments); }},
        {"node-state", [](Self self, const Step& step) { self.set_node_state(step.arguments); }},
        {"readiness", [](Self self, const Step& step) { self.set_readiness(step.arguments); }},
        {"readiness-and-status",
         [](Self self, const Step& step) { self.set_both(step.arguments); }},
        {"runtimes", [](Self self, const Step& step) { self.set_runtimes(step.arguments); }},
        {"conditions", [](Self self, const Step& step) { self.show_conditions(step.arguments); }},
        {"running", [](Self self, const Step&) { self.show_running(); }},
        {"statuses", [](Self self, const Step&) { self.show_statuses(); }},
    };
    return kVerbs;
  }

  // --- Verbs.

  void node(const Words& words) {
    driver_.add(words.at(0), node_of(words));
    nodes_.push_back(words[0]);
  }
  template <class Verb>
  void each(const Step& step, Verb verb) {
    for (const std::string& node : step.arguments) {
      (driver_.*verb)(node);
      show_steps();
    }
  }
  void apply(const std::string& input) {
    driver_.apply(documents_of(input));
    show_steps();
  }
  void erase(const Words& words) {
    driver_.erase(words.at(0), words.at(1));
    show_steps();
  }
  void drain(const Words& words) {
    driver_.drain(words.at(0), words.size() > 1 ? duration(words[1]) : Duration{});
    show_steps();
  }

  void cordon(const Words& words) {
    const bool off = words.size() > 1 && words[1] == "off";
    driver_.cordon(words.at(0), off ? Scheduling::Allowed : Scheduling::Cordoned);
    show_steps();
  }
  void pause(const Words& words, model::Pausing pausing) {
    driver_.pause(instance(words.at(0)), pausing);
    show_steps();
  }
  void forget(const Words& words) {
    driver_.forget(words.at(0));
    show_steps();
  }
  void advance(const Words& words) {
    driver_.advance(duration(words.at(0)));
    show_steps();
  }
  void restart() {
    driver_.restart();
    show_steps();
  }
  void change_agent(const Words& words) {
    FakeAgent& agent = driver_.agent(words.at(0));
    for (std::size_t i = 1; i < words.size(); ++i) change_agent(agent, words[i]);
  }
  static void change_agent(FakeAgent& agent, const std::string& word) {
    if (word == "answers" || word == "silent") {
      agent.answers = word == "answers";
    } else if (word == "prepares-slowly" || word == "prepares-at-once") {
      agent.prepares_slowly = word == "prepares-slowly";
    } else if (word == "starts-slowly" || word == "starts-at-once") {
      agent.starts_slowly = word == "starts-slowly";
    } else if (word == "stops-slowly" || word == "stops-at-once") {
      agent.stops_slowly = word == "stops-slowly";
    } else if (word == "loses-a-report") {
      agent.changes();
      agent.skip_a_revision();
    } else {
      unknown(word);
    }
  }
  void set_status(const Words& words) {
    const auto state = model::from_string<model::InstanceState>(words.at(2));
    const std::string reason = words.size() > 3 ? words[3] : "";
    driver_.set(words.at(0), instance(words.at(1)), state.value(),
                {reason, "", hindrance_of(reason)});
    show_steps();
  }
  // "uses n1 web/default/0 cpu=400"
  void set_usage(const Words& words) {
    FakeAgent& agent = driver_.agent(words.at(0));
    model::ReportedStatus status = agent.statuses.at(instance(words.at(1)));
    status.usage.cpu = Dmips{number(option(words.at(2)).second)};
    agent.find(status);
    driver_.report_changes(words[0]);
    show_steps();
  }
  void drop(const Words& words) {
    driver_.agent(words.at(0)).drop(instance(words.at(1)));
    driver_.report_changes(words[0]);
    show_steps();
  }
  void find(const Words& words) {
    model::ReportedStatus status;
    status.key = instance(words.at(1));
    status.version = "1";
    const bool component = words.at(2) == "component";
    if (component) status.type = model::ItemType::Component;
    status.runtime = model::RuntimeId{component ? "mcu" : "crun"};
    driver_.agent(words.at(0)).find(status);
  }
  void set_node_state(const Words& words) {
    model::NodeInfo info = driver_.agent(words.at(0)).info;
    info.state = model::from_string<model::NodeState>(words.at(1)).value();
    become(words[0], info);
  }
  // "readiness n1 crun NotReady vm Ready": in one report.
  void set_readiness(const Words& words) {
    model::NodeInfo info = driver_.agent(words.at(0)).info;
    for (std::size_t i = 1; i < words.size(); i += 2) {
      const model::RuntimeId id{words[i]};
      std::ranges::find(info.runtimes, id, &model::Runtime::id)->ready =
          model::from_string<model::Readiness>(words.at(i + 1)).value();
    }
    become(words[0], info);
  }
  // In one report, as agents do.
  void set_both(const Words& words) {
    FakeAgent& agent = driver_.agent(words.at(0));
    const auto state = model::from_string<model::InstanceState>(words.at(4));
    agent.set(instance(words.at(3)), state.value(), {words.at(5), "", hindrance_of(words.at(5))});
    set_readiness({words[0], words.at(1), words.at(2)});
  }
  // The runtimes that the node has from now on; those that are new are Ready.
  void set_runtimes(const Words& words) {
    model::NodeInfo info = driver_.agent(words.at(0)).info;
    const std::vector<model::Runtime> before = std::exchange(info.runtimes, {});
    for (std::size_t i = 1; i < words.size(); ++i) {
      const model::RuntimeId id{words[i]};
      const auto known = std::ranges::find(before, id, &model::Runtime::id);
      info.runtimes.push_back(
          known != before.end()
              ? *known
              : model::Runtime{.id = id,
                               .type = model::from_string<model::RuntimeType>(words[i]).value()});
    }
    become(words[0], info);
  }
  // A node that is not connected will say so when it is.
  void become(const std::string& node, const model::NodeInfo& info) {
    driver_.agent(node).become(info);
    if (!driver_.is_connected(node)) return;
    driver_.report_changes(node);
    show_steps();
  }

  // --- Answers.

  void line(const std::string& text) { text_ += text + '\n'; }

  std::string since_start(Time time) const {
    return fmt::format("{}s", std::chrono::duration<double>(time - start_).count());
  }
  void show_conditions(const Words& words) {
    for (const std::string& name : words) {
      const ObservedNode& node = driver_.controller().nodes().at(node_id(name));
      for (const Condition& condition : node.readiness.conditions) {
        line(fmt::format("{} {} {} since {}, heard of at {}: {}{}{}", name,
                         model::to_string(condition.type), model::to_string(condition.status),
                         since_start(condition.changed), since_start(node.last_heard),
                         condition.reason, condition.message.empty() ? "" : ": ",
                         condition.message));
      }
    }
  }
  void show_running() {
    for (const std::string& node : nodes_) {
      std::string text = node + ":";
      for (const auto& [key, status] : driver_.agent(node).statuses) {
        text += fmt::format(" {}@{}{}", model::to_string(key), status.version,
                            status.stopping       ? "(stopping)"
                            : status.prepare_only ? "(prepared only)"
                                                  : "");
      }
      line(text);
    }
  }
  void show_statuses() {
    for (const auto& [key, status] : driver_.controller().statuses()) line(describe(status));
  }
  void show_steps() {
    for (const auto& [time, effects] : driver_.steps()) show(time, effects);
  }
  void show(Time time, const Effects& effects) {
    std::vector<std::string> lines;
    for (const Reply& reply : effects.replies) {
      for (const std::string& text : describe(reply)) lines.push_back("  " + text);
    }
    for (const Note& note : effects.notes) {
      if (note.kind != NoteKind::StatusChanged) lines.push_back("  * " + describe(note));
    }
    for (const auto& status : effects.changes) lines.push_back("  = " + describe(status));
    for (const Outgoing& outgoing : effects.commands) lines.push_back("  " + describe(outgoing));
    if (lines.empty()) return;
    line(fmt::format("[{}]", since_start(time)));
    for (const std::string& text : lines) line(text);
  }

  Driver driver_;
  const Time start_ = driver_.now();
  std::vector<std::string> nodes_;
  std::string text_;
};

class ControlScenarioTest : public testing::Test {
 public:
  explicit ControlScenarioTest(std::string path) : path_(std::move(path)) {}

  void TestBody() override {
    ControlScenario scenario;
    play(path_, [&](const Step& step) { return scenario.answer(step); });
  }

 private:
  const std::string path_;
};

// Before main, because the list of tests must be complete when it starts.
const bool registered = [] {
  const auto directory = std::filesystem::path(BERTH_SOURCE_DIR) / "tests/scenarios/control";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const auto& file : files) {
    testing::RegisterTest("ControlScenario", file.stem().c_str(), nullptr, nullptr, file.c_str(), 1,
                          [path = file.string()] { return new ControlScenarioTest(path); });
  }
  return true;
}();

}  // namespace
}  // namespace berth::scenarios
