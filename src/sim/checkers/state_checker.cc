#include <fmt/format.h>

#include <charconv>
#include <map>
#include <tuple>

#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

std::uint64_t count_in(const model::SavedState& state) {
  std::uint64_t count = 0;
  const std::string& text = state.content;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

// Instances count in their states. One that a command tells a node to run must not begin there with
// less than what the controller had made durable before it sent that command: whatever it answered
// for is not lost on the way. With stop-first that is what the source had counted last.
class StateChecker : public Checker {
 public:
  StateChecker(const World& world, Violate violate) : world_(world), violate_(std::move(violate)) {}

  void controller_committed(const control::Effects& effects) override {
    for (const control::Write& write : effects.writes) {
      if (write.table != control::Table::States) continue;
      if (write.record) {
        kept_[write.key] = count_in(std::get<model::StateRecord>(*write.record).state);
      } else {
        kept_.erase(write.key);
      }
    }
  }
  void controller_loaded(const control::Durable& loaded) override {
    kept_.clear();
    for (const auto& [key, record] : loaded.states) {
      kept_[model::to_string(key)] = count_in(record.state);
    }
  }

  void sending(const control::Outgoing& outgoing) override {
    if (is_unit_wide(outgoing.node)) return;
    for (const model::InstanceSpec& spec : outgoing.command.run) {
      const auto kept = kept_.find(model::to_string(spec.key));
      if (kept == kept_.end()) continue;
      // One that is sent again may have been carried out as it was.
      owed_.emplace(std::tuple(outgoing.node, spec.key, outgoing.command.number), kept->second);
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
  // There it is where it is, and this world has no such disks.
  bool is_unit_wide(const model::NodeId& node) const {
    return world_.agents().at(node)->machine().info().partitions.unit_wide;
  }

  const World& world_;
  Violate violate_;
  std::map<std::string, std::uint64_t> kept_;  // by the controller, as far as it is durable
  std::map<std::tuple<model::NodeId, model::InstanceKey, model::CommandNumber>, std::uint64_t>
      owed_;
};

}  // namespace

CheckerPtr state_checker(const World& world, Violate violate) {
  return std::make_unique<StateChecker>(world, std::move(violate));
}

}  // namespace berth::sim
