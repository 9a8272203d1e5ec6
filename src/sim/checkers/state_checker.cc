#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

// Instances count in their states. One that a command tells a node to run must not begin there with
// less than what the controller had made durable before it sent that command: whatever it answered
// for is not lost on the way. With stop-first that is what the source had counted last. Otherwise
// two copies run for a while, and what the source counts after the other was told to begin is lost
// when that takes over. What two machines have counted that are both one node nobody can say.
class StateChecker : public Checker {
 public:
  StateChecker(const World& world, Violate violate) : world_(world), violate_(std::move(violate)) {}

  void controller_committed(const control::Effects& effects) override {
    for (const control::Write& write : effects.writes) {
      if (write.table != control::Table::States) continue;
      if (write.record) {
        keep(write.key, std::get<model::StateRecord>(*write.record));
      } else {
        kept_.erase(write.key);
      }
    }
  }
  void controller_loaded(const control::Durable& loaded) override {
    const auto before = std::exchange(kept_, {});
    for (const auto& [key, record] : loaded.states) {
      const auto known = before.find(model::to_string(key));
      const bool is_same = known != before.end() && known->second.record == record;
      kept_[model::to_string(key)] = is_same ? known->second : Kept{count_in(record.state), record};
    }
  }

  void sending(const control::Outgoing& outgoing) override {
    if (is_unit_wide(outgoing.node) || world_.was_cloned(outgoing.node)) return;
    for (const model::InstanceSpec& spec : outgoing.command.run) {
      const auto kept = kept_.find(model::to_string(spec.key));
      if (kept == kept_.end() || world_.was_cloned(kept->second.record.node)) continue;
      // One that is sent again may have been carried out as it was.
      owed_.emplace(std::tuple(outgoing.node, spec.key, outgoing.command.number),
                    kept->second.count);
    }
  }

  void acting(const model::NodeId& node, const agent::Action& action) override {
    const auto* start = std::get_if<agent::Start>(&action);
    if (start == nullptr) return;
    const auto owed = owed_.find({node, start->spec.key, start->run.generation});
    if (owed == owed_.end()) return;
    const std::uint64_t begins = world_.agents().at(node)->machine().counted_after(*start);
    if (begins >= owed->second) return;
    violate_("state", fmt::format("{} starts {} with {}, but {} was kept", node.value(),
                                  to_string(start->spec.key), begins, owed->second));
  }

 private:
  struct Kept {
    std::uint64_t count = 0;
    model::StateRecord record;
  };

  void keep(const std::string& key, const model::StateRecord& record) {
    Kept now{count_in(record.state), record};
    const auto before = kept_.find(key);
    const bool is_taken_over = before != kept_.end() && before->second.record.node != record.node &&
                               before->second.record.state.digest == record.state.digest;
    const auto host = world_.agents().find(record.node);
    if (is_taken_over && host != world_.agents().end()) {
      now.count = std::min(now.count, host->second->machine().counted(record.state.key));
    }
    kept_.insert_or_assign(key, std::move(now));
  }

  // There it is where it is, and this world has no such disks.
  bool is_unit_wide(const model::NodeId& node) const {
    return world_.agents().at(node)->machine().info().partitions.unit_wide;
  }

  const World& world_;
  Violate violate_;
  std::map<std::string, Kept> kept_;  // by the controller, as far as it is durable
  std::map<std::tuple<model::NodeId, model::InstanceKey, model::CommandNumber>, std::uint64_t>
      owed_;
};

}  // namespace

CheckerPtr state_checker(const World& world, Violate violate) {
  return std::make_unique<StateChecker>(world, std::move(violate));
}

}  // namespace berth::sim
