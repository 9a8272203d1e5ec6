#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "control/controller.h"
#include "control/documents/overrides.h"
#include "sim/checkers/checkers.h"
#include "sim/checkers/commanded.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

// A run that has been up for so long is known to its agent, unless its runtime hangs.
constexpr Duration kKnown = 15s;
// For so long after a runtime has hung an agent may act on what it had to assume.
constexpr Duration kAssumptions = 180s;

class NeedlessStopChecker : public Checker {
 public:
  NeedlessStopChecker(const World& world, Violate violate)
      : world_(world), violate_(std::move(violate)) {}

  void controller_loaded(const control::Durable&) override { commanded_.clear(); }

  // The agent stops only what it is no longer told to run.
  void acting(const model::NodeId& node, const agent::Action& action) override {
    const auto* stop = std::get_if<agent::Stop>(&action);
    if (stop == nullptr || model::is_pool_instance(stop->key)) return;
    const AgentHost& host = *world_.agents().at(node);
    const auto run = host.machine().runs().find({stop->key, stop->run});
    if (run == host.machine().runs().end() || !is_healthy(host.machine(), run->second)) return;
    if (host.memory().in_doubt) {
      return violate_("needless stop", fmt::format("{} stops {} before it was told what is to run",
                                                   node.value(), to_string(stop->key)));
    }
    const auto wanted = host.memory().wanted.find(stop->key);
    if (wanted == host.memory().wanted.end()) return;
    const model::WantedRecord& record = wanted->second;
    if (record.generation != stop->run.generation || record.finished) return;
    if (!model::runs_the_same(record.spec, run->second.spec)) return;
    violate_("needless stop", fmt::format("{} stops {}, which is healthy and wanted", node.value(),
                                          to_string(stop->key)));
  }

  // The controller commands only to stop what is decided to be elsewhere, other or nowhere. It may
  // decide again before that is sent, and then sends another command.
  void commanding(const control::Outgoing& outgoing) override {
    Specs& specs = commanded_[outgoing.node];
    const Specs before = specs;
    note(outgoing.command, specs);
    if (world_.is_cloned(outgoing.node)) return;  // it may go to the other of the two
    for (const auto& [key, spec] : before) {
      const auto now = specs.find(key);
      if (now != specs.end() && model::runs_the_same(now->second, spec)) continue;
      if (!is_decided(outgoing.node, spec) || !is_up(outgoing.node, spec)) continue;
      violate_("needless stop", fmt::format("{} is commanded to stop {}, which is decided for it",
                                            outgoing.node.value(), to_string(key)));
    }
  }

 private:
  bool is_healthy(const Machine& machine, const Run& run) const {
    return run.state == Run::State::Running && run.known_to_agent && !run.sick &&
           !run.preinstalled && world_.now() - run.since > kKnown &&
           world_.now() - machine.hung_at() > kAssumptions;
  }

  bool is_up(const model::NodeId& node, const model::InstanceSpec& spec) const {
    const Machine::Runs& runs = world_.agents().at(node)->machine().runs();
    return std::ranges::any_of(runs, [&](const auto& entry) {
      const auto& [key, run] = entry;
      return key.first == spec.key && run.state == Run::State::Running &&
             model::runs_the_same(run.spec, spec);
    });
  }

  bool is_decided(const model::NodeId& node, const model::InstanceSpec& spec) const {
    const control::Durable& durable = world_.controller()->durable();
    const auto found = durable.instances.find(spec.key);
    if (found == durable.instances.end()) return false;
    const model::InstanceRecord& record = found->second;
    // Another copy serves, and hands over to one that is only prepared here until then.
    if (record.leaving && record.leaving->hand_over && !record.leaving->empty) return false;
    const auto item = durable.items.find({spec.key.item, record.version});
    return record.place == model::Place{node, spec.runtime} && record.image == spec.image &&
           record.version == spec.item.version && record.uid == spec.uid &&
           (!spec.network || spec.network->address == record.address) &&
           item != durable.items.end() && with_overrides(item->second, spec.key) == spec.item;
  }

  model::Item with_overrides(model::Item item, const model::InstanceKey& key) const {
    for (const auto& [name, value] : control::variables_of(world_.controller()->durable(), key)) {
      item.env.insert_or_assign(name, value);
    }
    return item;
  }

  const World& world_;
  Violate violate_;
  std::map<model::NodeId, Specs> commanded_;
};

}  // namespace

CheckerPtr needless_stop_checker(const World& world, Violate violate) {
  return std::make_unique<NeedlessStopChecker>(world, std::move(violate));
}

}  // namespace berth::sim
