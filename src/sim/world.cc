#include "sim/world.h"

#include <algorithm>
#include <utility>

#include "sim/checkers/checkers.h"
#include "sim/draw.h"

namespace berth::sim {
namespace {

constexpr std::uint64_t kCloneStream = 0x636c6f6e6573;

}  // namespace

class World::Watch : public Checker {
 public:
  explicit Watch(World& world)
      : world_(world),
        checkers_(all_checkers(world, [&world](std::string_view who, std::string what) {
          world.violate(who, std::move(what));
        })) {}

  void controller_loaded(const control::Durable& durable) override {
    each([&](Checker& checker) { checker.controller_loaded(durable); });
  }
  void agent_loaded(const model::NodeId& node, const agent::Restored& restored) override {
    each([&](Checker& checker) { checker.agent_loaded(node, restored); });
  }
  void agent_strayed(const model::NodeId& node) override {
    each([&](Checker& checker) { checker.agent_strayed(node); });
  }
  void controller_stepped(const control::Effects& effects) override {
    each([&](Checker& checker) { checker.controller_stepped(effects); });
  }
  void agent_store_lost(const model::NodeId& node, const agent::Restored& left) override {
    each([&](Checker& checker) { checker.agent_store_lost(node, left); });
  }
  void agent_stepped(const model::NodeId& node, const agent::Effects& effects) override {
    each([&](Checker& checker) { checker.agent_stepped(node, effects); });
  }
  void commanding(const control::Outgoing& outgoing) override {
    each([&](Checker& checker) { checker.commanding(outgoing); });
  }
  void controller_committed(const control::Effects& effects) override {
    each([&](Checker& checker) { checker.controller_committed(effects); });
  }
  void agent_committed(const model::NodeId& node, const agent::Effects& effects) override {
    each([&](Checker& checker) { checker.agent_committed(node, effects); });
  }
  void sending(const control::Outgoing& outgoing) override {
    each([&](Checker& checker) { checker.sending(outgoing); });
  }
  void sending_pool(const control::PoolOutgoing& outgoing) override {
    each([&](Checker& checker) { checker.sending_pool(outgoing); });
  }
  void sending_without_store(const control::Outgoing& outgoing) override {
    each([&](Checker& checker) { checker.sending_without_store(outgoing); });
  }
  void sending_pool_without_store(const control::PoolOutgoing& outgoing) override {
    each([&](Checker& checker) { checker.sending_pool_without_store(outgoing); });
  }
  void replying(const control::Reply& reply) override {
    each([&](Checker& checker) { checker.replying(reply); });
  }
  void replying(const control::SessionReply& reply) override {
    each([&](Checker& checker) { checker.replying(reply); });
  }
  void acting(const model::NodeId& node, const agent::Action& action) override {
    each([&](Checker& checker) { checker.acting(node, action); });
  }
  void acting_for_pool(const model::NodeId& node, const agent::PoolAction& action) override {
    each([&](Checker& checker) { checker.acting_for_pool(node, action); });
  }
  void called(const control::Event& event) override {
    each([&](Checker& checker) { checker.called(event); });
  }
  void ticked() override {
    each([](Checker& checker) { checker.ticked(); });
  }
  void settled() override {
    each([](Checker& checker) { checker.settled(); });
  }
  void rested() override {
    each([](Checker& checker) { checker.rested(); });
  }

 private:
  template <class Each>
  void each(Each look) {
    world_.stage_.counts.checks += checkers_.size();
    for (const CheckerPtr& checker : checkers_) look(*checker);
  }

  World& world_;
  std::vector<CheckerPtr> checkers_;
};

World::World(const Setup& setup, const Cluster& cluster)
    : stage_{.queue = {},
             .trace = Trace(setup.trace),
             .counts = {},
             .sabotage = setup.sabotage,
             .heartbeat = setup.heartbeat,
             .session_ports = setup.session_ports},
      random_(setup.seed),
      loads_(setup.loads),
      watch_(std::make_unique<Watch>(*this)),
      network_(stage_, random_.fork(),
               {.controller = [this](control::Event event) { controller_.post(std::move(event)); },
                .agent = [this](const model::NodeId& node,
                                agent::Event event) { host_at(node).post(std::move(event)); }}),
      controller_(stage_, random_.fork(), network_, *watch_),
      // A stream of its own, so that the histories of units without clones stay what they were.
      clones_(stage_, Random(setup.seed ^ kCloneStream), network_, *watch_),
      injector_(stage_, random_.fork(), setup.faults, {controller_, agents_, network_, clones_}) {
  controller_.start();
  for (const model::Node& node : cluster.nodes) {
    network_.add_node(node.id);
    auto host = std::make_unique<AgentHost>(stage_, random_.fork(), node, network_, *watch_);
    AgentHost& agent = *agents_.emplace(node.id, std::move(host)).first->second;
    if (const auto found = cluster.preinstalled.find(node.id);
        found != cluster.preinstalled.end()) {
      for (const model::InstanceSpec& spec : found->second) agent.machine().preinstall(spec);
    }
    // A stream of its own, so that the histories of machines without loads stay what they were.
    if (loads_) agent.machine().set_loads(*loads_, Random(setup.seed ^ agents_.size()));
    if (node.connected) stage_.queue.after(draw(random_, 1ms, 3s), [&agent] { agent.start(); });
  }
  tick();
  measure();
}

AgentHost& World::host_at(const model::NodeId& link) {
  AgentHost* clone = clones_.find(link);
  return clone != nullptr ? *clone : *agents_.at(link);
}

void World::run_for(Duration duration) {
  const Time until = now() + duration;
  while (violations_.empty() && stage_.queue.run_next(until)) ++stage_.counts.tasks;
}

bool World::call(const control::Event& call) {
  if (!controller_.up()) return false;
  ++stage_.counts.calls;
  watch_->called(call);
  const auto* open = std::get_if<control::OpenSessionCall>(&call);
  const bool waits =
      stage_.sabotage == Sabotage::DelayCalls && open != nullptr && open->call % 3 == 0;
  if (waits) {
    stage_.queue.after(2s, [this, call] { controller_.post(call); });
  } else {
    controller_.post(call);
  }
  return true;
}

void World::tick() {
  watch_->ticked();
  stage_.queue.after(stage_.heartbeat / 2, [this] { tick(); });
}

void World::measure() {
  for (auto& [node, host] : agents_) host->machine().measure();
  clones_.measure();
  stage_.queue.after(5 * stage_.heartbeat, [this] { measure(); });
}

Time World::controller_calm_since() const {
  return std::max(controller_.changed_at(), injector_.controller_troubled_until());
}

Time World::calm_since(const model::NodeId& node) const {
  const AgentHost& host = *agents_.at(node);
  return std::max({controller_calm_since(), host.changed_at(), host.machine().disturbed_at(),
                   network_.disturbed_at(node), injector_.troubled_until(node)});
}

void World::note(std::string_view who, std::string_view what) {
  stage_.trace.line(now(), who, "{}", what);
}

void World::violate(std::string_view checker, std::string what) {
  stage_.trace.line(now(), checker, "VIOLATED: {}", what);
  violations_.push_back({now(), std::string(checker), std::move(what)});
}

}  // namespace berth::sim
