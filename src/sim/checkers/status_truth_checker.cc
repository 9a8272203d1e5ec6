#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "control/controller.h"
#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

// After this long without trouble on a node, what is said about it must be true.
constexpr Duration kNewsTravel = 30s;

// For so long after a runtime has hung an agent may show what it had to assume of a found run.
constexpr Duration kStatusAssumptions = 180s;

bool runs(const Machine& machine, const model::InstanceStatus& status, Time now) {
  const bool may_be_assumed = now - machine.hung_at() < kStatusAssumptions;
  return std::ranges::any_of(machine.runs(), [&](const auto& entry) {
    const auto& [key, run] = entry;
    return key.first == status.key && run.state == Run::State::Running &&
           run.spec.runtime == status.place->runtime && run.spec.item.version == status.version &&
           (may_be_assumed || run.paused == (status.state == model::InstanceState::Paused));
  });
}

class StatusTruthChecker : public Checker {
 public:
  StatusTruthChecker(const World& world, Violate violate)
      : world_(world), violate_(std::move(violate)) {}

  // Also without any trouble: a variable may expire, a node may be relieved.
  void sending(const control::Outgoing& outgoing) override {
    const model::Command& command = outgoing.command;
    if (command.run.empty() && command.stop.empty()) return;
    told_.insert_or_assign(outgoing.node, world_.now());
  }

  void ticked() override { check(kNewsTravel); }
  void rested() override { check(Duration{}); }

 private:
  void check(Duration calm) {
    if (world_.controller() == nullptr) return;
    if (world_.now() - world_.controller_calm_since() < calm) return;
    for (const auto& [key, status] : world_.controller()->statuses()) {
      if (!model::is_up(status.state) || status.unverified) continue;
      if (!status.place) {
        violate_("status truth", to_string(key) + " is shown up, and nowhere");
        continue;
      }
      const auto host = world_.agents().find(status.place->node);
      if (host == world_.agents().end()) {
        violate_("status truth", to_string(key) + " is shown up on an unknown node");
        continue;
      }
      if (is_calm(status.place->node, calm)) check(status, *host->second);
    }
  }

  bool is_calm(const model::NodeId& node, Duration calm) const {
    const auto told = told_.find(node);
    if (told != told_.end() && world_.now() - told->second < calm) return false;
    return world_.now() - world_.calm_since(node) >= calm;
  }

  void check(const model::InstanceStatus& status, const AgentHost& host) {
    if (!host.up() || !world_.network().connected(status.place->node)) {
      violate_("status truth", fmt::format("{} is shown up on {}, which nobody hears of",
                                           to_string(status.key), to_string(*status.place)));
    } else if (!runs(host.machine(), status, world_.now())) {
      violate_("status truth",
               fmt::format("{}@{} is shown {} on {}, and is not so there", to_string(status.key),
                           status.version, to_string(status.state), to_string(*status.place)));
    }
  }

  const World& world_;
  Violate violate_;
  std::map<model::NodeId, Time> told_;  // when it was last told to run or stop something
};

}  // namespace

CheckerPtr status_truth_checker(const World& world, Violate violate) {
  return std::make_unique<StatusTruthChecker>(world, std::move(violate));
}

}  // namespace berth::sim
