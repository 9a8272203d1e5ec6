#include "sim/machine.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "sim/draw.h"

namespace berth::sim {
namespace {

constexpr std::int32_t kCrashed = 1;
constexpr std::int32_t kVanished = 137;
constexpr std::uint64_t kPoolStream = 0x706f6f6c73;

// A stream of its own, so that the histories of machines without pools stay what they were.
Random pool_stream(Random random) { return Random(random.next() ^ kPoolStream); }

// nullptr: it is for the machine itself.
const model::RuntimeId* runtime_of(const agent::Action& action) {
  struct Visitor {
    const model::RuntimeId* operator()(const agent::ListRuns& list) const { return &list.runtime; }
    const model::RuntimeId* operator()(const agent::Prepare&) const { return nullptr; }
    const model::RuntimeId* operator()(const agent::Start& start) const {
      return &start.spec.runtime;
    }
    const model::RuntimeId* operator()(const agent::Stop& stop) const { return &stop.runtime; }
    const model::RuntimeId* operator()(const agent::CheckHealth& check) const {
      return &check.spec.runtime;
    }
    const model::RuntimeId* operator()(const agent::SetPausing& set) const { return &set.runtime; }
    const model::RuntimeId* operator()(const agent::ApplyNetwork&) const { return nullptr; }
    const model::RuntimeId* operator()(const agent::EraseData&) const { return nullptr; }
    const model::RuntimeId* operator()(const agent::TidyImages&) const { return nullptr; }
  };
  return std::visit(Visitor{}, action);
}

std::uint64_t to_number(const std::string& text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// An end may be told twice; what was on the disk then is not said again.
agent::Event without_state(agent::Event event) {
  if (auto* ended = std::get_if<agent::Exited>(&event)) ended->state.reset();
  return event;
}

}  // namespace

std::uint64_t count_in(const model::SavedState& state) { return to_number(state.content); }

bool is_broken(const model::Item& item) { return !item.args.empty() && item.args[0] == "break"; }

std::optional<Duration> lifetime(const model::Item& item) {
  if (item.args.size() != 2 || item.args[0] != "finish") return std::nullopt;
  std::uint32_t seconds = 0;
  const std::string& text = item.args[1];
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return std::chrono::seconds(seconds);
}

Machine::Machine(Stage& stage, model::NodeId node, model::NodeInfo info, Random random, Tell tell)
    : stage_(stage),
      node_(std::move(node)),
      info_(std::move(info)),
      random_(random),
      tell_(std::move(tell)),
      pools_(stage, pool_stream(random), tell_,
             [this](const model::InstanceKey& key) { return find_running(key); }) {}

void Machine::preinstall(model::InstanceSpec spec) {
  Run run{.spec = std::move(spec), .state = Run::State::Running, .preinstalled = true};
  runs_.emplace(RunKey{run.spec.key, {}}, run);
}

void Machine::copy_disk(const Machine& other) {
  counts_ = other.counts_;
  images_ = other.images_;
  taken_ = other.taken_;
  for (const auto& [key, run] : other.runs_) {
    if (run.preinstalled) runs_.emplace(key, run);
  }
}

void Machine::agent_restarted() {
  ++agent_life_;
  // A start that its agent was in the middle of has been completed or has come to nothing; one of
  // what never comes up has come to nothing, whoever looks.
  std::erase_if(runs_, [this](const auto& entry) {
    const Run& run = entry.second;
    return run.state == Run::State::Starting &&
           (draw_percent(random_, 50) || is_broken(run.spec.item));
  });
  for (auto& [runtime, hang] : hangs_) hang.waiting.clear();
  // Who was lied to is no more, and no list has what never ran: nobody hears of its end. Its run
  // may by now be the name of another, for each life of an agent counts its tries from the start.
  lies_.clear();
  for (auto& [key, run] : runs_) {
    run.known_to_agent = false;
    if (run.state != Run::State::Starting) continue;
    run.state = Run::State::Running;
    finish_later(key);
    pools_.run_began(key.first);
  }
  disturb();
  if (is_counting_) return;
  answer(1s, [this](bool asker_lives) {
    if (asker_lives) look_at_states();
  });
}

void Machine::power_cut() {
  ++power_life_;
  ++agent_life_;
  std::erase_if(runs_, [](const auto& entry) { return !entry.second.preinstalled; });
  lies_.clear();
  hangs_.clear();
  network_.reset();
  pools_.power_cut();
  disturb();
}

// --- Carrying out ------------------------------------------------------------------------------

void Machine::perform(const agent::Action& action) {
  if (const auto* check = std::get_if<agent::CheckHealth>(&action)) begin_check(*check);
  const model::RuntimeId* runtime = runtime_of(action);
  const auto hang = runtime == nullptr ? hangs_.end() : hangs_.find(*runtime);
  if (hang == hangs_.end()) return carry_out(action);
  hang->second.waiting.push_back(action);
}

void Machine::perform(const agent::PoolAction& action) {
  const auto* keep = std::get_if<agent::KeepNote>(&action);
  if (keep == nullptr) return pools_.perform(action);
  const auto run = runs_.find({keep->key, keep->run});
  if (run != runs_.end()) run->second.note = keep->note;
}

const Run* Machine::find_running(const model::InstanceKey& key) const {
  const auto run = runs_.lower_bound({key, agent::RunId{}});
  const bool is_it = run != runs_.end() && run->first.first == key;
  return is_it && run->second.state == Run::State::Running ? &run->second : nullptr;
}

void Machine::carry_out(const agent::Action& action) {
  std::visit([this](const auto& one) { carry_out_one(one); }, action);
}

void Machine::answer(Duration delay, std::function<void(bool)> task) {
  stage_.queue.after(
      delay, [this, task = std::move(task), agent_life = agent_life_, power_life = power_life_] {
        if (power_life == power_life_) task(agent_life == agent_life_);
      });
}

// With each run is kept what it was started with; one that is being stopped is not told of as one
// to go on with.
agent::FoundRun Machine::found(const RunKey& key, const Run& run) {
  agent::FoundRun found{key.first, key.second, run.spec.item.type, run.spec.item.version};
  if (run.preinstalled || run.state == Run::State::Stopping) return found;
  found.spec = run.spec;
  found.spec->paused = run.paused;
  found.pool = run.note;
  return found;
}

void Machine::carry_out_one(const agent::ListRuns& list) {
  answer(draw(random_, 1ms, 200ms), [this, runtime = list.runtime](bool asker_lives) {
    if (!asker_lives) return;
    agent::RunsListed listed{runtime, {}};
    for (auto& [key, run] : runs_) {
      if (run.spec.runtime != runtime || run.state == Run::State::Starting) continue;
      run.known_to_agent = true;
      listed.runs.push_back(found(key, run));
    }
    tell_(listed);  // once: a list is true when it is made, and not later
  });
}

void Machine::carry_out_one(const agent::Prepare& prepare) {
  const model::ItemKey image = key_of(prepare.spec.item);
  Duration takes = draw(random_, 1ms, 20ms);
  bool fails = false;
  if (!images_.contains(image)) {
    takes = draw(random_, 20ms, 900ms);
    if (random_.chance_ppm(moods_.slow_start)) takes = draw(random_, 1s, 90s);
    fails = random_.chance_ppm(moods_.failed_start);
  }
  answer(takes, [this, image, prepare, fails](bool asker_lives) {
    if (!fails) images_.insert(image);
    if (!asker_lives) return;
    const auto& [spec, generation, order] = prepare;
    if (fails) {
      tell(agent::PrepareFailed{spec.key, generation, order, {"ImagePullFailed", "drawn to fail"}});
    } else {
      tell(agent::Prepared{spec.key, generation, order});
    }
  });
}

void Machine::carry_out_one(const agent::Start& start) {
  const RunKey key{start.spec.key, start.run};
  take_state(start);
  if (const auto found = runs_.find(key); found != runs_.end()) {
    if (found->second.state == Run::State::Running) tell(agent::Started{key.first, key.second});
    return;
  }
  ++stage_.counts.starts;
  lies_.erase(key);
  if (random_.chance_ppm(moods_.lie) || stage_.sabotage == Sabotage::LieForever) {
    return lie_about(start);
  }
  Duration takes = draw(random_, 20ms, 900ms);
  if (random_.chance_ppm(moods_.slow_start)) takes = draw(random_, 1s, 90s);
  const bool fails = random_.chance_ppm(moods_.failed_start);
  runs_.emplace(key, Run{.spec = start.spec, .since = stage_.now()});
  answer(takes, [this, key, fails](bool asker_lives) {
    const auto run = runs_.find(key);
    if (!asker_lives || run == runs_.end() || run->second.state != Run::State::Starting) return;
    const model::Runtime* runtime = model::find_runtime(info_, run->second.spec.runtime);
    if (runtime == nullptr || runtime->ready == model::Readiness::NotReady) {
      return start_failed(
          key, {"RuntimeNotReady", "the runtime is not ready", model::Hindrance::RuntimeNotReady});
    }
    if (is_broken(run->second.spec.item)) {
      return start_failed(key, {"StartFailed", "this version is broken"});
    }
    if (fails) return start_failed(key, {"StartFailed", "drawn to fail"});
    started(key, run->second);
  });
}

void Machine::started(const RunKey& key, Run& run) {
  run.state = Run::State::Running;
  run.since = stage_.now();
  run.known_to_agent = true;
  disturb();
  finish_later(key);
  if (stage_.sabotage == Sabotage::StartTwice) {
    RunKey twin = key;
    twin.second.attempt += 1'000'000;
    runs_.emplace(twin, run);
  }
  pools_.run_began(key.first);
  tell(agent::Started{key.first, key.second});
  if (!is_counting_) look_at_states();
}

void Machine::start_failed(const RunKey& key, model::Problem problem) {
  runs_.erase(key);
  disturb();
  tell(agent::StartFailed{key.first, key.second, std::move(problem)});
}

// A lie comes to light: the run is in no list, and at some time its end is noticed.
void Machine::lie_about(const agent::Start& start) {
  ++stage_.counts.lies;
  lied_ = stage_.now();
  const RunKey key{start.spec.key, start.run};
  disturb();
  if (stage_.sabotage != Sabotage::LieForever) lies_.insert(key);
  answer(draw(random_, 20ms, 900ms), [this, key](bool asker_lives) {
    if (asker_lives) tell(agent::Started{key.first, key.second});
  });
  if (stage_.sabotage == Sabotage::LieForever) return;
  answer(draw(random_, 2s, 60s), [this, key](bool) {
    if (lies_.contains(key)) end_run(key, kVanished);
  });
}

void Machine::finish_later(const RunKey& key) {
  const std::optional<Duration> life = lifetime(runs_[key].spec.item);
  if (!life) return;
  answer(*life, [this, key](bool) { finish(key); });
}

void Machine::finish(const RunKey& key) {
  const auto run = runs_.find(key);
  if (run == runs_.end()) return;
  if (run->second.paused) {
    run->second.is_late = true;
  } else {
    end_run(key, 0);
  }
}

void Machine::carry_out_one(const agent::Stop& stop) {
  const RunKey key{stop.key, stop.run};
  const auto found = runs_.find(key);
  if (found == runs_.end()) {
    answer(draw(random_, 1ms, 20ms), [this, key](bool) {
      if (!runs_.contains(key)) end_run(key, kVanished);
    });
    return;
  }
  if (found->second.state == Run::State::Stopping) return;
  found->second.state = Run::State::Stopping;
  const Duration longest = std::max(stop.grace, Duration(100ms));
  const Duration takes = draw_percent(random_, 80) ? draw(random_, 10ms, 800ms) : longest;
  answer(takes, [this, key](bool) {
    if (runs_.contains(key)) end_run(key, 0);
  });
}

// Also of one whose runtime hangs: its silence counts.
void Machine::begin_check(const agent::CheckHealth& check) {
  answer(1ms, [this, begun = agent::CheckBegun{check.spec.key, check.run}](bool asker_lives) {
    if (asker_lives) tell_(begun);
  });
}

void Machine::carry_out_one(const agent::CheckHealth& check) {
  const RunKey key{check.spec.key, check.run};
  answer(draw(random_, 1ms, 50ms), [this, key](bool asker_lives) {
    if (!asker_lives) return;
    const auto found = runs_.find(key);
    const bool healthy = found != runs_.end() && !found->second.sick && !found->second.paused &&
                         found->second.state == Run::State::Running;
    tell(agent::HealthChecked{key.first, key.second, healthy, healthy ? "" : "no answer"});
  });
}

// What is asked of a runtime happens in the order of asking; only the answers take their time.
void Machine::carry_out_one(const agent::SetPausing& set) {
  const RunKey key{set.key, set.run};
  const auto run = runs_.find(key);
  std::string problem;
  if (run == runs_.end() || run->second.state != Run::State::Running) {
    problem = "it does not run";
  } else if (random_.chance_ppm(moods_.failed_start)) {
    problem = "drawn to fail";
  } else {
    run->second.paused = set.pausing == model::Pausing::Paused;
    disturb();
    if (!run->second.paused && std::exchange(run->second.is_late, false)) {
      answer(draw(random_, 1ms, 20ms), [this, key](bool) { finish(key); });
    }
  }
  answer(draw(random_, 1ms, 200ms), [this, set, problem](bool asker_lives) {
    if (asker_lives) tell(agent::PausingSet{set.key, set.run, set.order, problem});
  });
}

void Machine::carry_out_one(const agent::ApplyNetwork& apply) { network_ = apply.network; }

void Machine::carry_out_one(const agent::EraseData& erase) {
  const bool fails = random_.chance_ppm(moods_.failed_start);
  answer(draw(random_, 1ms, 200ms), [this, key = erase.key, fails](bool asker_lives) {
    if (!fails) {
      counts_.erase(key);
      taken_.erase(key);
    }
    if (asker_lives) tell(agent::DataErased{key, fails ? "drawn to fail" : ""});
  });
}

// Whatever ends has a last word for its state.
void Machine::end_run(const RunKey& key, std::int32_t exit_code) {
  const auto before = state_of(key.first);
  if (const auto run = runs_.find(key); run != runs_.end() && counts(run->second)) {
    ++counts_[key.first];
  }
  runs_.erase(key);
  if (lies_.erase(key) > 0) lied_ = stage_.now();
  disturb();
  const bool is_lost = stage_.sabotage == Sabotage::LoseLastStates;
  tell(agent::Exited{key.first, key.second, exit_code, {}, is_lost ? before : state_of(key.first)});
}

void Machine::tell(const agent::Event& event) {
  tell_(event);
  if (!random_.chance_ppm(moods_.repeat)) return;
  answer(draw(random_, 1ms, 5s), [this, event](bool asker_lives) {
    if (asker_lives) tell_(without_state(event));
  });
}

// --- States ------------------------------------------------------------------------------------

std::uint64_t Machine::counted(const model::InstanceKey& key) const {
  const auto found = counts_.find(key);
  return found == counts_.end() ? 0 : found->second;
}

std::uint64_t Machine::counted_after(const agent::Start& start) const {
  const auto taken = taken_.find(start.spec.key);
  const bool is_new =
      start.state && (taken == taken_.end() || taken->second != name_of(*start.state));
  return is_new ? to_number(start.state->content) : counted(start.spec.key);
}

void Machine::take_state(const agent::Start& start) {
  if (!start.state) return;
  const std::uint64_t count = counted_after(start);
  counts_[start.spec.key] = count;
  taken_.insert_or_assign(start.spec.key, name_of(*start.state));
}

std::optional<agent::StateSaved> Machine::state_of(const model::InstanceKey& key) const {
  const auto found = counts_.find(key);
  if (found == counts_.end()) return std::nullopt;
  const std::string text = std::to_string(found->second);
  const auto taken = taken_.find(key);
  return agent::StateSaved{.key = key,
                           .size = Bytes(8),
                           .digest = text,
                           .content = text,
                           .goes_on_from = taken == taken_.end() ? "" : taken->second};
}

bool Machine::counts(const Run& run) const {
  return is_counting_ && run.state != Run::State::Starting && !run.preinstalled && !run.paused &&
         run.spec.item.type == model::ItemType::Service && !model::is_pool_instance(run.spec.key);
}

void Machine::count_on() {
  for (const auto& [key, run] : runs_) {
    if (!counts(run) || run.state != Run::State::Running) continue;
    if (!draw_percent(random_, 20)) continue;
    ++counts_[key.first];
    tell_(*state_of(key.first));
  }
}

// An agent that was not there when something was written finds it.
void Machine::look_at_states() {
  for (const auto& [key, run] : runs_) {
    const auto state = state_of(key.first);
    if (state && run.state == Run::State::Running && !run.preinstalled) tell_(*state);
  }
}

// --- What happens to a machine -----------------------------------------------------------------

std::optional<Machine::RunKey> Machine::draw_running() {
  std::vector<RunKey> running;
  for (const auto& [key, run] : runs_) {
    if (run.state == Run::State::Running && !run.preinstalled) running.push_back(key);
  }
  if (running.empty()) return std::nullopt;
  return draw_one(random_, running);
}

void Machine::crash_a_run() {
  const std::optional<RunKey> key = draw_running();
  if (!key) return;
  ++stage_.counts.run_crashes;
  stage_.trace.line(stage_.now(), node_.value(), "! {} crashes", model::to_string(key->first));
  end_run(*key, kCrashed);
}

void Machine::sicken_a_run() {
  const std::optional<RunKey> key = draw_running();
  if (!key) return;
  runs_[*key].sick = true;
  disturb();
}

void Machine::hang(const model::RuntimeId& runtime, Duration duration) {
  ++stage_.counts.hangs;
  disturb();
  const std::uint64_t id = ++next_hang_;
  hangs_[runtime].id = id;
  stage_.queue.after(duration, [this, runtime, id] { end_hang(runtime, id); });
}

void Machine::end_hang(const model::RuntimeId& runtime, std::uint64_t id) {
  const auto found = hangs_.find(runtime);
  if (found == hangs_.end() || found->second.id != id) return;
  const std::deque<agent::Action> waiting = std::move(found->second.waiting);
  hangs_.erase(found);
  hung_ = stage_.now();
  disturb();
  if (draw_percent(random_, 30)) return;  // it was killed, and forgot what it had to do
  for (const agent::Action& action : waiting) carry_out(action);
}

void Machine::set_readiness(const model::RuntimeId& runtime, model::Readiness readiness) {
  const auto found = std::ranges::find(info_.runtimes, runtime, &model::Runtime::id);
  if (found == info_.runtimes.end() || found->ready == readiness) return;
  found->ready = readiness;
  ++readiness_changes_;
  disturb();
  tell_(observed());
}

void Machine::set_state(model::NodeState state) {
  if (info_.state == state) return;
  info_.state = state;
  disturb();
  tell_(observed());
}

agent::NodeObserved Machine::observed() const {
  agent::NodeObserved seen{info_};
  auto& [cpu, ram] = seen.info.capacity;
  if (stage_.sabotage == Sabotage::Boast) {
    cpu = Dmips(cpu.count() * 10);
    ram = Bytes(ram.count() * 10);
  } else if (stage_.sabotage == Sabotage::Understate) {
    cpu = Dmips(cpu.count() / 10);
    ram = Bytes(ram.count() / 10);
  }
  return seen;
}

void Machine::heal() {
  moods_ = {};
  pools_.heal();
  is_counting_ = false;  // so that all can come to rest
  look_at_states();
  for (const RunKey& key : std::set(lies_)) end_run(key, kVanished);
  for (const auto& [runtime, hang] : std::map(hangs_)) end_hang(runtime, hang.id);
  for (const model::Runtime& runtime : std::vector(info_.runtimes)) {
    set_readiness(runtime.id, model::Readiness::Ready);
  }
  set_state(model::NodeState::Provisioned);
  disturb();
}

void Machine::measure() {
  const model::Usage little{Dmips(10), Bytes(1 << 20)};
  std::set<model::InstanceKey> running;
  for (const auto& [key, run] : runs_) {
    if (run.state == Run::State::Running) running.insert(key.first);
  }
  agent::Measured measured;
  if (meter_) {
    measured.instances = meter_->measure(running, stage_.now());
  } else {
    for (const model::InstanceKey& key : running) measured.instances.emplace(key, little);
  }
  for (const auto& [key, usage] : measured.instances) measured.total = measured.total + usage;
  tell_(measured);
  if (is_counting_) count_on();
}

}  // namespace berth::sim
