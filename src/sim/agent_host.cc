#include "sim/agent_host.h"

#include <fmt/format.h>

#include "agentd/persistence.h"
#include "base/check.h"
#include "codec/wire.h"
#include "sim/describe.h"

namespace berth::sim {
namespace {

template <class Map, class Value>
void put(Map& map, const model::InstanceKey& key, const std::optional<Value>& value) {
  map.erase(key);
  if (value) map.emplace(key, *value);
}

struct Apply {
  agent::Restored& memory;

  void operator()(const agent::WriteActed& write) const { memory.acted = write.acted; }
  void operator()(const agent::WriteReceipt& write) const { memory.receipt = write.receipt; }
  void operator()(const agent::WriteNetwork& write) const { memory.network = write.network; }
  void operator()(const agent::WriteWanted& write) const {
    put(memory.wanted, write.key, write.record);
  }
  void operator()(const agent::WriteHanded& write) const {
    put(memory.handed, write.key, write.state);
  }
  void operator()(const agent::WriteLast& write) const { put(memory.last, write.key, write.state); }
  void operator()(const agent::WriteErasing& write) const {
    write.pending ? void(memory.erasing.insert(write.key)) : void(memory.erasing.erase(write.key));
  }
  void operator()(const agent::WriteDoubt& write) const { memory.in_doubt = write.in_doubt; }
};

// What the control plane would refuse breaks the connection in real life.
void check_as_on_the_wire(const model::Report& report) {
  const auto taken = codec::from_wire(codec::to_wire(report));
  CHECK(taken.has_value(), taken ? "" : taken.error().message);
  CHECK(*taken == report, "a report that changes on its way");
}

model::NodeInfo in_good_health(model::NodeInfo info) {
  info.state = model::NodeState::Provisioned;
  for (model::Runtime& runtime : info.runtimes) runtime.ready = model::Readiness::Ready;
  return info;
}

}  // namespace

AgentHost::AgentHost(Stage& stage, Random random, const model::Node& node, Network& network,
                     Checker& watch)
    : Daemon(stage, node.id.value(), random),
      node_(node.id),
      link_(node.id),
      network_(network),
      watch_(watch),
      machine_(stage, node.id, node.info, random_.fork(), teller()) {}

AgentHost::AgentHost(Stage& stage, Random random, const AgentHost& original,
                     const model::NodeId& link, Network& network, Checker& watch)
    : Daemon(stage, link.value(), random),
      node_(original.node_),
      link_(link),
      network_(network),
      watch_(watch),
      machine_(stage, link, in_good_health(original.machine_.info()), random_.fork(), teller()) {
  disk_.copy(original.disk_);
  has_lost_store_ = original.has_lost_store_;
  machine_.copy_disk(original.machine_);
}

// What is kept beside runs has the times of the world; the agent has those of its process.
Machine::Tell AgentHost::teller() {
  return [this](agent::Event event) {
    if (auto* listed = std::get_if<agent::RunsListed>(&event)) {
      for (agent::FoundRun& run : listed->runs) {
        if (run.pool) run.pool = shifted(*run.pool, clock_offset());
      }
    }
    post(std::move(event));
  };
}

void AgentHost::crash(Duration down) {
  if (!up()) return;
  ++stage_.counts.agent_crashes;
  kill_for(down);
}

void AgentHost::reboot(Duration down) {
  ++stage_.counts.reboots;
  stage_.trace.line(stage_.now(), name_, "! loses power");
  machine_.power_cut();
  if (lose_power_for(down)) return;
  stage_.trace.line(stage_.now(), name_, "! has lost what was acknowledged");
  watch_.agent_strayed(node_);
}

void AgentHost::remove() {
  machine_.power_cut();
  kill();
}

void AgentHost::lose_store(Duration down) {
  if (!up()) return;
  ++stage_.counts.agent_crashes;
  kill_for(down);
  const std::uint64_t way = random_.below(3);
  stage_.trace.line(stage_.now(), name_, "! loses its store, way {}", way);
  way == 0 ? disk_.lose(0) : way == 1 ? disk_.lose(60) : disk_.fall_back();
  has_lost_store_ = true;
}

void AgentHost::boot() {
  Result<agentd::Loaded> loaded = agentd::load(disk_.store());
  CHECK(loaded.has_value(), loaded ? "" : loaded.error().message);
  const bool was_lost = has_lost_store_;
  loaded->restored.in_doubt |= was_lost;
  const auto changes = agentd::mended(*loaded);
  // As a real store is mended with the doubt in it, or not at all: while there is no room for that,
  // each life of the agent finds it damaged anew.
  if (changes.empty() || disk_.commit(changes)) has_lost_store_ = false;
  agent::Restored restored = loaded->restored;
  if (stage_.sabotage == Sabotage::ForgetOnRestart && !restored.wanted.empty()) {
    restored.wanted.erase(restored.wanted.begin());
  }
  if (was_lost) {
    watch_.agent_store_lost(node_, restored);
  } else {
    watch_.agent_loaded(node_, restored);
  }
  disk_.remember();
  memory_ = restored;
  machine_.agent_restarted();
  core_.emplace(agent::Config{.node = node_,
                              .boot_id = fmt::format("{}#{}", name_, ++boots_),
                              .heartbeat = stage_.heartbeat},
                std::move(restored));
  post(machine_.observed());
  network_.agent_started(link_);
}

// One that is handed over replaces what was said of it.
void AgentHost::note_heard(const agent::Event& event) {
  const auto* received = std::get_if<agent::CommandReceived>(&event);
  if (received == nullptr) return;
  for (const model::SavedState& state : received->command.states) {
    const auto said = unheard_.find(state.key);
    const bool is_meant = said != unheard_.end() && said->second == state.digest;
    if (is_meant || !state.content.empty()) unheard_.erase(state.key);
  }
}

void AgentHost::died() {
  unwritten_.clear();
  store_problem_.clear();
  core_.reset();
  unheard_.clear();
  machine_.agent_died();
  network_.agent_died(link_);
}

agent::Effects AgentHost::step_core(Time now, std::span<const agent::Event> batch) {
  ++stage_.counts.agent_steps;
  for (const agent::Event& event : batch) {
    stage_.trace.line(stage_.now(), name_, "< {}", describe(event));
    note_heard(event);
  }
  agent::Effects effects = core_->step(now, batch);
  for (const agent::Note& note : effects.notes) {
    stage_.trace.line(stage_.now(), name_, "{} {}", note.about, note.what);
  }
  for (const agent::Write& write : effects.writes) std::visit(Apply{memory_}, write);
  watch_.agent_stepped(node_, effects);
  return effects;
}

std::vector<store::Change> AgentHost::changes_of(const agent::Effects& effects) {
  unwritten_.add(effects.writes);
  return unwritten_.changes();
}

void AgentHost::committed(const agent::Effects& effects) {
  const bool is_news = !std::exchange(store_problem_, {}).empty();
  if (is_news) post_first({agent::StoreObserved{}});
  watch_.agent_committed(node_, effects);
  unwritten_.clear();
  has_lost_store_ = false;  // the doubt was written at last, or what has settled it
}

// As the real loop does it.
bool AgentHost::goes_on_without(const agent::Effects& effects, const Error& why) {
  agentd::Permitted permitted = agentd::permitted_without_store(effects, why.message);
  std::vector<agent::Event>& told = permitted.refused;
  if (std::exchange(store_problem_, why.message) != why.message) {
    told.insert(told.begin(), agent::StoreObserved{why.message});
  }
  if (!told.empty()) post_first(told);
  for (const agent::Action& action : permitted.actions) act(action);
  send(effects.reports);
  return true;
}

void AgentHost::perform(const agent::Effects& effects) {
  for (const agent::Action& action : effects.actions) act(action);
  send(effects.reports);
  if (stage_.sabotage == Sabotage::StopHealthy && stage_.counts.agent_steps % 50 == 0) {
    stop_something_healthy();
  }
}

void AgentHost::perform_at_once(const agent::Effects& effects) {
  for (const agent::Action& action : effects.at_once) act(action);
  for (const agent::PoolAction& action : effects.for_pools) act_for_pool(action);
}

void AgentHost::act_for_pool(agent::PoolAction action) {
  stage_.trace.line(stage_.now(), name_, "> {}", describe(action));
  watch_.acting_for_pool(node_, action);
  if (auto* keep = std::get_if<agent::KeepNote>(&action)) {
    keep->note = shifted(std::move(keep->note), -clock_offset());
  }
  machine_.perform(action);
}

void AgentHost::send(const std::vector<model::Report>& reports) {
  for (const model::Report& report : reports) {
    stage_.trace.line(stage_.now(), name_, "> {}", describe(report));
    check_as_on_the_wire(report);
    for (const model::SavedState& state : report.states) unheard_[state.key] = state.digest;
    network_.send(link_, report);
  }
}

void AgentHost::act(const agent::Action& action) {
  stage_.trace.line(stage_.now(), name_, "> {}", describe(action));
  watch_.acting(node_, action);
  if (stage_.sabotage == Sabotage::DropStops && std::holds_alternative<agent::Stop>(action)) return;
  if (stage_.sabotage == Sabotage::DropStarts && std::holds_alternative<agent::Start>(action)) {
    return;
  }
  if (stage_.sabotage == Sabotage::DropNetworks &&
      std::holds_alternative<agent::ApplyNetwork>(action)) {
    return;
  }
  machine_.perform(action);
}

void AgentHost::stop_something_healthy() {
  for (const auto& [key, run] : machine_.runs()) {
    if (run.state != Run::State::Running || run.preinstalled) continue;
    return act(agent::Stop{key.first, run.spec.runtime, key.second, 10s});
  }
}

}  // namespace berth::sim
