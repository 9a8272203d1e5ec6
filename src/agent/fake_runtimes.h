#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "agent/events.h"
#include "base/random.h"
#include "base/time.h"

namespace berth::agent {

// The runtimes of a node, with the truth about what runs. In bad times they answer late, never or
// twice, starts fail and runs end by themselves; each still does what it is told, and speaks, in
// order. Included by tests only.
class FakeRuntimes {
 public:
  using Name = std::pair<model::InstanceKey, RunId>;
  struct Alive {
    model::RuntimeId runtime;
    model::ItemType type = model::ItemType::Service;
    std::string version;
    bool paused = false;
    bool starting = false;  // in the middle of it when the agent died
    std::optional<model::InstanceSpec> spec = {};
  };

  explicit FakeRuntimes(Random random) : random_(random) {}

  void set_bad_times(bool bad) { bad_ = bad; }
  const std::map<Name, Alive>& alive() const { return alive_; }
  void install(const FoundRun& run, const model::RuntimeId& runtime) {
    alive_[{run.key, run.run}] = {runtime, run.type, run.version};
  }

  // An order by the agent.
  void order(Time now, const Action& action) {
    const bool is_for_a_runtime = !std::holds_alternative<ApplyNetwork>(action) &&
                                  !std::holds_alternative<EraseData>(action) &&
                                  !std::holds_alternative<TidyImages>(action);
    if (!is_for_a_runtime || is_hit(50'000)) return;
    enqueue(orders_, now, runtime_of(action), action);
  }

  // Where this instance runs or is about to.
  std::vector<model::RuntimeId> places_of(const model::InstanceKey& key) const {
    std::vector<model::RuntimeId> places;
    for (const auto& [name, run] : alive_) {
      if (name.first == key) places.push_back(run.runtime);
    }
    for (const auto& [at, sent] : orders_) {
      const auto* start = std::get_if<Start>(&sent.what);
      if (start != nullptr && start->spec.key == key) places.push_back(sent.runtime);
    }
    return places;
  }

  std::optional<Time> next() const {
    std::optional<Time> earliest;
    if (!orders_.empty()) earliest = orders_.begin()->first.first;
    if (!events_.empty() && (!earliest || events_.begin()->first.first < *earliest)) {
      earliest = events_.begin()->first.first;
    }
    return earliest;
  }

  // Does what is due, and gives what the agent hears by now.
  std::vector<Event> run_until(Time now) {
    while (!orders_.empty() && orders_.begin()->first.first <= now) {
      const auto order = orders_.extract(orders_.begin());
      std::visit([&](const auto& one) { perform(order.key().first, one); }, order.mapped().what);
    }
    std::vector<Event> heard;
    while (!events_.empty() && events_.begin()->first.first <= now) {
      heard.push_back(events_.extract(events_.begin()).mapped().what);
    }
    return heard;
  }

  void kill_one(Time now) {
    if (alive_.empty()) return;
    auto victim = alive_.begin();
    std::advance(victim, static_cast<std::ptrdiff_t>(random_.below(alive_.size())));
    const auto [name, run] = *victim;
    alive_.erase(victim);
    const auto code = static_cast<std::int32_t>(random_.below(3));
    say(now, run.runtime, Exited{name.first, name.second, code});
  }

  // All that the runtime had running is gone without a word; it says what is left: nothing.
  void restart_runtime(Time now, const model::RuntimeId& runtime) {
    std::erase_if(alive_, [&](const auto& one) {
      return one.second.runtime == runtime && one.second.type != model::ItemType::Component;
    });
    list(now, runtime);
  }

  // The runtime says unasked what it runs.
  void list(Time now, const model::RuntimeId& runtime) { perform(now, ListRuns{runtime}); }

  // The agent dies: starts on their way are carried out or not, everything else is forgotten.
  void lose_agent() {
    for (const auto& [at, sent] : orders_) {
      const auto* start = std::get_if<Start>(&sent.what);
      if (start == nullptr || random_.below(2) == 0) continue;
      begin(*start);
      alive_[{start->spec.key, start->run}].starting = random_.below(2) == 0;
    }
    orders_.clear();
    events_.clear();
  }

 private:
  template <class T>
  struct Sent {
    model::RuntimeId runtime;
    T what;
  };
  template <class T>
  using Queue = std::map<std::pair<Time, std::uint64_t>, Sent<T>>;

  static model::RuntimeId runtime_of(const Action& action) {
    if (const auto* list = std::get_if<ListRuns>(&action)) return list->runtime;
    if (const auto* prepare = std::get_if<Prepare>(&action)) return prepare->spec.runtime;
    if (const auto* start = std::get_if<Start>(&action)) return start->spec.runtime;
    if (const auto* stop = std::get_if<Stop>(&action)) return stop->runtime;
    if (const auto* set = std::get_if<SetPausing>(&action)) return set->runtime;
    return std::get<CheckHealth>(action).spec.runtime;
  }

  bool is_hit(std::uint64_t ppm) { return bad_ && random_.chance_ppm(ppm); }

  Duration delay() {
    if (!bad_) return 1ms;
    return is_hit(100'000) ? Duration(1s * random_.between(1, 30))
                           : Duration(1ms * random_.between(1, 500));
  }

  // Behind everything that this runtime was told, or said, before.
  template <class T>
  Time enqueue(Queue<T>& queue, Time now, const model::RuntimeId& runtime, T what) {
    Time at = now + delay();
    for (const auto& [when, sent] : queue) {
      if (sent.runtime == runtime) at = std::max(at, when.first);
    }
    queue.emplace(std::pair(at, ++sequence_), Sent<T>{runtime, std::move(what)});
    return at;
  }

  void say(Time now, const model::RuntimeId& runtime, const Event& event) {
    if (is_hit(50'000)) return;
    const Time first = enqueue(events_, now, runtime, event);
    if (std::holds_alternative<RunsListed>(event) || !is_hit(100'000)) return;
    // What is said of one run may be repeated at any later time.
    const Time again = first + 1s * random_.between(0, 30);
    events_.emplace(std::pair(again, ++sequence_), Sent<Event>{model::RuntimeId{""}, event});
  }

  void begin(const Start& start) {
    Alive run{start.spec.runtime, start.spec.item.type, start.spec.item.version};
    run.spec = start.spec;
    alive_[{start.spec.key, start.run}] = std::move(run);
  }

  void perform(Time now, const ListRuns& list) {
    RunsListed listed{list.runtime, {}};
    std::vector<Name> started;
    for (auto& [name, run] : alive_) {
      if (run.runtime != list.runtime) continue;
      if (run.spec) run.spec->paused = run.paused;
      listed.runs.push_back(
          {name.first, name.second, run.type, run.version, run.starting, run.spec});
      if (std::exchange(run.starting, false)) started.push_back(name);
    }
    say(now, list.runtime, listed);
    for (const auto& [key, run] : started) say(now, list.runtime, Started{key, run});
  }
  void perform(Time now, const Prepare& prepare) {
    const auto& [spec, generation, order] = prepare;
    if (is_hit(200'000)) {
      say(now, spec.runtime, PrepareFailed{spec.key, generation, order, {"NoImage", ""}});
    } else {
      say(now, spec.runtime, Prepared{spec.key, generation, order});
    }
  }
  void perform(Time now, const Start& start) {
    if (is_hit(100'000)) {
      say(now, start.spec.runtime, StartFailed{start.spec.key, start.run, {"NoImage", ""}});
    } else {
      begin(start);
      say(now, start.spec.runtime, Started{start.spec.key, start.run});
    }
  }
  void perform(Time now, const Stop& stop) {
    alive_.erase({stop.key, stop.run});
    say(now, stop.runtime, Exited{stop.key, stop.run, 0});
  }
  void perform(Time now, const SetPausing& set) {
    const auto run = alive_.find({set.key, set.run});
    std::string problem = run == alive_.end() ? "it does not run" : "";
    if (is_hit(200'000)) problem = "not now";
    if (problem.empty()) run->second.paused = set.pausing == model::Pausing::Paused;
    say(now, set.runtime, PausingSet{set.key, set.run, set.order, problem});
  }
  static void perform(Time, const ApplyNetwork&) {}
  static void perform(Time, const EraseData&) {}
  static void perform(Time, const TidyImages&) {}

  void perform(Time now, const CheckHealth& check) {
    const auto run = alive_.find({check.spec.key, check.run});
    if (run == alive_.end()) return;
    const bool healthy = !run->second.paused && !is_hit(400'000);
    say(now, check.spec.runtime, CheckBegun{check.spec.key, check.run});
    say(now, check.spec.runtime, HealthChecked{check.spec.key, check.run, healthy, ""});
  }

  Random random_;
  bool bad_ = true;
  std::uint64_t sequence_ = 0;
  std::map<Name, Alive> alive_;
  Queue<Action> orders_;
  Queue<Event> events_;
};

}  // namespace berth::agent
