#include "sim/injector.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/draw.h"

namespace berth::sim {

Injector::Injector(Stage& stage, Random random, const Faults& faults, World world)
    : stage_(stage), random_(random), rates_(draw_rates(faults, random_.fork())), world_(world) {}

void Injector::begin() {
  active_ = true;
  begin_network();
  begin_processes();
  begin_disks();
  begin_machines();
  begin_identities();
}

void Injector::repeat(Duration mean, std::function<void()> episode) {
  if (mean == Duration{}) return;
  stage_.queue.after(draw_around(random_, mean), [this, mean, episode = std::move(episode)] {
    if (!active_) return;
    episode();
    repeat(mean, episode);
  });
}

void Injector::begin_network() {
  world_.network.set_weather(rates_.weather);
  repeat(rates_.episodes.partition_every, [this] { partition(); });
  repeat(rates_.episodes.reset_every,
         [this] { world_.network.reset(draw_agent().machine().node()); });
}

void Injector::begin_processes() {
  repeat(rates_.episodes.controller_crash_every, [this] { crash_controller(); });
  repeat(rates_.episodes.agent_crash_every, [this] { crash_agent(); });
  repeat(rates_.episodes.reboot_every, [this] { draw_agent().reboot(draw(random_, 1s, 90s)); });
}

void Injector::begin_disks() {
  repeat(rates_.episodes.full_disk_every, [this] { trouble_a_disk(&Disk::fill); });
  repeat(rates_.episodes.slow_disk_every, [this] { trouble_a_disk(&Disk::slow_down); });
  repeat(rates_.episodes.stall_every, [this] { trouble_a_disk(&Disk::stall); });
  repeat(rates_.episodes.lying_disk_every, [this] { make_a_disk_lie(); });
  repeat(rates_.episodes.lost_store_every, [this] { lose_a_store(); });
}

void Injector::begin_identities() {
  repeat(rates_.episodes.clock_jump_every, [this] { jump_clock(); });
  repeat(rates_.episodes.clone_every, [this] { clone_a_node(); });
}

void Injector::begin_machines() {
  for (auto& [node, host] : world_.agents) {
    Machine& machine = host->machine();
    machine.set_moods(rates_.moods);
    repeat(rates_.moods.exit_every, [&machine] { machine.crash_a_run(); });
    repeat(rates_.moods.sick_every, [&machine] { machine.sicken_a_run(); });
  }
  repeat(rates_.episodes.hang_every, [this] { hang_a_runtime(); });
  repeat(rates_.episodes.not_ready_every, [this] { unready_a_runtime(); });
  repeat(rates_.episodes.node_error_every, [this] { put_a_node_in_error(); });
}

void Injector::heal() {
  active_ = false;
  world_.network.set_weather({});
  world_.controller.disk().heal();
  world_.controller.find_store(draw(random_, 100ms, 2s));
  world_.clones.remove_all();
  for (auto& [node, host] : world_.agents) {
    world_.network.mend(node);
    host->disk().heal();
    host->machine().heal();
  }
  for (auto& [node, until] : troubled_until_) until = std::min(until, stage_.now());
  controller_troubled_until_ = std::min(controller_troubled_until_, stage_.now());
}

Time Injector::troubled_until(const model::NodeId& node) const {
  const auto found = troubled_until_.find(node);
  return found == troubled_until_.end() ? Time{} : found->second;
}

AgentHost& Injector::draw_agent() {
  const auto steps = static_cast<std::ptrdiff_t>(random_.below(world_.agents.size()));
  return *std::next(world_.agents.begin(), steps)->second;
}

const model::RuntimeId& Injector::draw_runtime(const Machine& machine) {
  return draw_one(random_, machine.info().runtimes).id;
}

void Injector::for_a_while(const model::NodeId& node, Duration duration,
                           std::function<void()> end) {
  Time& until = troubled_until_[node];
  until = std::max(until, stage_.now() + duration);
  stage_.queue.after(duration, [this, end = std::move(end)] {
    if (active_) end();
  });
}

// --- Episodes ----------------------------------------------------------------------------------

void Injector::partition() {
  ++stage_.counts.partitions;
  const model::NodeId& node = draw_agent().machine().node();
  const auto direction = static_cast<Cut>(random_.below(3));
  const Duration duration =
      draw_percent(random_, 50) ? draw(random_, 100ms, 8s) : draw(random_, 5s, 150s);
  stage_.trace.line(stage_.now(), node.value(), "! cut {} for {} ms", static_cast<int>(direction),
                    duration / 1ms);
  world_.network.cut(node, direction);
  for_a_while(node, duration, [this, node] { world_.network.mend(node); });
}

void Injector::crash_controller() {
  if (!world_.controller.up()) return;
  ++stage_.counts.controller_crashes;
  const Duration down =
      draw_percent(random_, 80) ? draw(random_, 100ms, 5s) : draw(random_, 5s, 120s);
  if (draw_percent(random_, 50)) return world_.controller.kill_in_next_commit(down);
  world_.controller.kill_for(down);
}

void Injector::crash_agent() {
  AgentHost& agent = draw_agent();
  const Duration down =
      draw_percent(random_, 80) ? draw(random_, 100ms, 5s) : draw(random_, 5s, 120s);
  if (draw_percent(random_, 50)) return agent.kill_in_next_commit(down);
  agent.crash(down);
}

void Injector::trouble_a_disk(Trouble trouble) {
  const Duration duration = draw(random_, 1s, 40s);
  const bool of_controller = draw_percent(random_, 40);
  AgentHost& agent = draw_agent();
  Disk& disk = of_controller ? world_.controller.disk() : agent.disk();
  if (of_controller) {
    controller_troubled_until_ = std::max(controller_troubled_until_, stage_.now() + duration);
  }
  (disk.*trouble)();
  for_a_while(agent.machine().node(), duration, [&disk] { disk.heal(); });
}

// What it acknowledges meanwhile may be gone when the machine loses power: at the end of the lies,
// or before.
void Injector::make_a_disk_lie() {
  if (world_.controller.has_lost_store()) return;
  AgentHost& agent = draw_agent();
  agent.disk().lie();
  const Duration down = draw(random_, 1s, 30s);
  const bool loses_power = draw_percent(random_, 70);
  for_a_while(agent.machine().node(), draw(random_, 1s, 40s), [&agent, down, loses_power] {
    if (loses_power) agent.reboot(down);
    agent.disk().heal();
  });
}

// Years both ways, or back to where clocks begin that have lost their battery; while the controller
// runs, or when its machine starts anew.
void Injector::jump_clock() {
  ++stage_.counts.clock_jumps;
  constexpr Duration kYears = 24h * 365 * 3;
  const bool is_lost = draw_percent(random_, 20);
  const Duration error = draw(random_, -kYears, kYears);
  world_.controller.set_clock_error(is_lost ? -kDateOfTheWorld : error);
  if (draw_percent(random_, 50) && world_.controller.up()) {
    world_.controller.kill_for(draw(random_, 100ms, 20s));
  }
}

void Injector::clone_a_node() {
  AgentHost& agent = draw_agent();
  world_.clones.add(agent);
  const model::NodeId& node = agent.machine().node();
  for_a_while(node, draw(random_, 2s, 120s), [this, node] { world_.clones.remove(node); });
}

// While the control plane has lost its own, its agents keep theirs: of what nobody can show nobody
// can know.
void Injector::lose_a_store() {
  if (world_.controller.has_lost_store()) return;
  if (draw_percent(random_, 70)) return draw_agent().lose_store(draw(random_, 100ms, 20s));
  world_.controller.remember_store();
  const Duration later = draw(random_, 1s, 60s);
  stage_.queue.after(later, [this] {
    if (active_) lose_the_controllers();
  });
}

void Injector::lose_the_controllers() {
  if (world_.controller.has_lost_store()) return;
  const bool can_be_shown = std::ranges::all_of(world_.agents, [this](const auto& entry) {
    const auto& receipt = entry.second->memory().receipt;
    return receipt && entry.second->up() && entry.second->disk().is_safe() &&
           world_.controller.remembers_less_than(receipt->number);
  });
  const Duration until_found = draw(random_, 5s, 90s);
  controller_troubled_until_ = std::max(controller_troubled_until_, stage_.now() + until_found);
  world_.controller.lose_store(
      can_be_shown ? ControllerHost::Loss::Older : ControllerHost::Loss::Everything,
      draw(random_, 100ms, 5s));
  const Duration down = draw(random_, 100ms, 5s);
  stage_.queue.after(until_found, [this, down] {
    if (active_) world_.controller.find_store(down);
  });
}

void Injector::hang_a_runtime() {
  Machine& machine = draw_agent().machine();
  const Duration duration = draw(random_, 1s, 100s);
  machine.hang(draw_runtime(machine), duration);
  for_a_while(machine.node(), duration, [] {});
}

void Injector::unready_a_runtime() {
  Machine& machine = draw_agent().machine();
  const model::RuntimeId runtime = draw_runtime(machine);
  const Duration duration = draw(random_, 200ms, 30s);
  machine.set_readiness(
      runtime, draw_percent(random_, 70) ? model::Readiness::NotReady : model::Readiness::Unknown);
  for_a_while(machine.node(), duration,
              [&machine, runtime] { machine.set_readiness(runtime, model::Readiness::Ready); });
}

void Injector::put_a_node_in_error() {
  Machine& machine = draw_agent().machine();
  machine.set_state(model::NodeState::Error);
  for_a_while(machine.node(), draw(random_, 1s, 60s),
              [&machine] { machine.set_state(model::NodeState::Provisioned); });
}

}  // namespace berth::sim
