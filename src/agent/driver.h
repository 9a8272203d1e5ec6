#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "agent/agent.h"
#include "agent/events.h"

// Builders and a hand to drive an Agent with. Included by tests only.
namespace berth::agent {

inline model::InstanceKey key_of(const std::string& item) {
  return {model::ItemId{item}, model::SubjectId{"vehicle"}, 0};
}

inline model::CommandNumber number(std::uint64_t n) { return {1, n}; }

// A service "name", version 1, on runtime crun, restarted always.
class SpecBuilder {
 public:
  explicit SpecBuilder(const std::string& name) {
    spec_.key = key_of(name);
    spec_.item.id = model::ItemId{name};
    spec_.item.version = "1";
    spec_.runtime = model::RuntimeId{"crun"};
  }

  SpecBuilder& version(const std::string& version) { return set(spec_.item.version, version); }
  SpecBuilder& type(model::ItemType type) { return set(spec_.item.type, type); }
  SpecBuilder& on(const std::string& runtime) {
    return set(spec_.runtime, model::RuntimeId{runtime});
  }
  SpecBuilder& priority(std::int64_t priority) { return set(spec_.priority, priority); }
  SpecBuilder& restart(model::RestartMode mode) { return set(spec_.item.restart.mode, mode); }
  SpecBuilder& backoff(Duration first, Duration longest) {
    spec_.item.restart.backoff = first;
    return set(spec_.item.restart.backoff_max, longest);
  }
  SpecBuilder& checked_every(Duration period, std::uint32_t failures = 3) {
    spec_.item.health = model::HealthCheck{model::TcpCheck{80}, period, failures};
    return *this;
  }
  SpecBuilder& holding(const std::string& resource) {
    spec_.item.shared_resources.push_back(resource);
    return *this;
  }
  // An OCI image, which has to be fetched.
  SpecBuilder& image(const std::string& reference) {
    return set(spec_.item.images, {{{}, {}, model::OciImage{reference}}});
  }
  SpecBuilder& networked(const std::string& owner = "") {
    return set(spec_.network, std::optional(model::InstanceNetwork{model::OwnerId{owner}, {}}));
  }
  SpecBuilder& paused() { return set(spec_.paused, true); }
  SpecBuilder& prepare_only() { return set(spec_.prepare_only, true); }
  SpecBuilder& env(const std::string& name, const std::string& value) {
    spec_.item.env[name] = value;
    return *this;
  }
  SpecBuilder& tolerates(model::Toleration toleration) {
    spec_.item.tolerates.insert(toleration);
    return *this;
  }

  operator model::InstanceSpec() const { return spec_; }  // NOLINT: that is what a builder is for

 private:
  template <class T>
  SpecBuilder& set(T& field, T value) {
    field = std::move(value);
    return *this;
  }

  model::InstanceSpec spec_;
};

inline SpecBuilder a_spec(const std::string& name) { return SpecBuilder(name); }

inline model::Runtime a_runtime(const std::string& id,
                                model::Readiness ready = model::Readiness::Ready) {
  model::Runtime runtime;
  runtime.id = model::RuntimeId{id};
  runtime.ready = ready;
  return runtime;
}

inline NodeObserved a_node(std::vector<model::Runtime> runtimes = {a_runtime("crun")}) {
  model::NodeInfo info;
  info.type = "main";
  info.runtimes = std::move(runtimes);
  return {info};
}

inline CommandReceived a_full_command(std::uint64_t n, std::vector<model::InstanceSpec> run) {
  model::Command command;
  command.number = number(n);
  command.run = std::move(run);
  return {command};
}

// Based on the command before it.
inline CommandReceived a_partial_command(std::uint64_t n, std::vector<model::InstanceSpec> run,
                                         std::vector<model::InstanceKey> stop = {}) {
  CommandReceived received = a_full_command(n, std::move(run));
  received.command.base = n == 1 ? model::CommandNumber{} : number(n - 1);
  received.command.stop = std::move(stop);
  return received;
}

inline FoundRun a_found(const std::string& name, RunId run,
                        model::ItemType type = model::ItemType::Service) {
  return {key_of(name), run, type, "1"};
}

// With what it was started with.
inline FoundRun a_found(const model::InstanceSpec& spec, RunId run) {
  FoundRun found{spec.key, run, spec.item.type, spec.item.version};
  found.spec = spec;
  return found;
}

inline RunsListed a_list(const std::string& runtime, std::vector<FoundRun> runs = {}) {
  return {model::RuntimeId{runtime}, std::move(runs)};
}

inline Config a_config() {
  Config config;
  config.node = model::NodeId{"n1"};
  config.boot_id = "boot-1";
  return config;
}

// An agent with its clock and its disk. Each call to `tell` is one step; afterwards the questions
// are about that step.
class Driver {
 public:
  explicit Driver(Config config = a_config(), Restored restored = {})
      : config_(std::move(config)), durable_(restored), agent_(config_, std::move(restored)) {}

  template <class... Events>
  const Effects& tell(Events... events) {
    const std::vector<Event> batch{Event(std::move(events))...};
    return tell_all(batch);
  }

  const Effects& tell_all(const std::vector<Event>& batch) {
    effects_ = agent_.step(now_, batch);
    for (const Write& write : effects_.writes) keep(write);
    for (const model::Report& report : effects_.reports) {
      for (const auto& gone : report.gone) shown_.erase(gone);
      if (report.full) shown_.clear();
      for (const auto& status : report.instances) shown_[status.key] = status;
    }
    return effects_;
  }

  // Lets time go by without waking the agent.
  Driver& sleep(Duration duration) {
    now_ += duration;
    return *this;
  }

  // Lets time go by, waking the agent whenever it asked for that; gives all effects together.
  Effects wait(Duration duration) {
    const Time end = now_ + duration;
    Effects all;
    while (effects_.wake_at && *effects_.wake_at <= end) {
      now_ = std::max(now_, *effects_.wake_at);
      tell();
      append(all.writes, effects_.writes);
      append(all.at_once, effects_.at_once);
      append(all.for_pools, effects_.for_pools);
      append(all.actions, effects_.actions);
      append(all.reports, effects_.reports);
      append(all.notes, effects_.notes);
    }
    now_ = end;
    all.wake_at = effects_.wake_at;
    effects_ = all;
    return all;
  }

  // The agent dies and comes back with what was durable.
  void restart() {
    effects_ = {};
    shown_.clear();
    agent_ = Agent(config_, durable_);
  }

  // The same, but nothing was durable: its store is gone.
  void lose_store() {
    durable_ = {.wanted = {},
                .acted = {},
                .network = {},
                .handed = {},
                .last = {},
                .erasing = {},
                .in_doubt = true};
    restart();
  }

  template <class A>
  std::vector<A> actions() const {
    std::vector<A> found;
    for (const auto* list : {&effects_.at_once, &effects_.actions}) {
      for (const Action& action : *list) {
        if (const A* one = std::get_if<A>(&action)) found.push_back(*one);
      }
    }
    return found;
  }
  std::vector<std::string> started_items() const {
    std::vector<std::string> items;
    for (const Start& start : actions<Start>()) items.push_back(start.spec.key.item.value());
    return items;
  }
  // The run of the only Start of the step.
  RunId started_run() const {
    const auto starts = actions<Start>();
    CHECK(starts.size() == 1, "the test expects one start");
    return starts[0].run;
  }
  const model::Report& report() const {
    CHECK(effects_.reports.size() == 1, "the test expects one report");
    return effects_.reports[0];
  }
  bool noted(const std::string& part) const {
    return std::any_of(effects_.notes.begin(), effects_.notes.end(),
                       [&](const Note& note) { return note.what.find(part) != std::string::npos; });
  }

  // The status that the controller knows by now; needs a connection.
  const model::ReportedStatus& status(const std::string& name) const {
    const auto found = shown_.find(key_of(name));
    CHECK(found != shown_.end(), "the test expects a reported instance");
    return found->second;
  }
  bool is_shown(const std::string& name) const { return shown_.contains(key_of(name)); }
  const std::map<model::InstanceKey, model::ReportedStatus>& shown() const { return shown_; }

  const Effects& effects() const { return effects_; }
  const Restored& durable() const { return durable_; }
  Time now() const { return now_; }

 private:
  template <class T>
  static void append(std::vector<T>& all, const std::vector<T>& more) {
    all.insert(all.end(), more.begin(), more.end());
  }

  void keep(const Write& write) {
    if (const auto* receipt = std::get_if<WriteReceipt>(&write)) {
      durable_.receipt = receipt->receipt;
      return;
    }
    if (const auto* acted = std::get_if<WriteActed>(&write)) {
      durable_.acted = acted->acted;
      return;
    }
    if (const auto* network = std::get_if<WriteNetwork>(&write)) {
      durable_.network = network->network;
      return;
    }
    if (const auto* erasing = std::get_if<WriteErasing>(&write)) {
      erasing->pending ? void(durable_.erasing.insert(erasing->key))
                       : void(durable_.erasing.erase(erasing->key));
      return;
    }
    if (const auto* doubt = std::get_if<WriteDoubt>(&write)) {
      durable_.in_doubt = doubt->in_doubt;
      return;
    }
    if (const auto* wanted = std::get_if<WriteWanted>(&write)) {
      put(durable_.wanted, wanted->key, wanted->record);
    } else if (const auto* handed = std::get_if<WriteHanded>(&write)) {
      put(durable_.handed, handed->key, handed->state);
    } else {
      const auto& last = std::get<WriteLast>(write);
      put(durable_.last, last.key, last.state);
    }
  }

  template <class Map, class Value>
  static void put(Map& map, const model::InstanceKey& key, const std::optional<Value>& value) {
    map.erase(key);
    if (value) map.emplace(key, *value);
  }

  Config config_;
  Restored durable_;
  Agent agent_;
  Time now_ = Time{} + 1000s;
  Effects effects_;
  std::map<model::InstanceKey, model::ReportedStatus> shown_;
};

// A connected agent whose runtimes have told that they run nothing.
inline Driver a_driver(std::vector<model::Runtime> runtimes = {a_runtime("crun")},
                       Config config = a_config()) {
  Driver driver(std::move(config));
  std::vector<Event> batch{Connected{1}, a_node(runtimes)};
  for (const model::Runtime& runtime : runtimes) batch.push_back(a_list(runtime.id.value()));
  driver.tell_all(batch);
  return driver;
}

// ... which was told by command 1 to run one instance, and has started it.
inline Driver a_driver_running(const model::InstanceSpec& spec) {
  Driver driver = a_driver({a_runtime(spec.runtime.value())});
  driver.tell(a_full_command(1, {spec}));
  driver.tell(Started{spec.key, driver.started_run()});
  return driver;
}

}  // namespace berth::agent
