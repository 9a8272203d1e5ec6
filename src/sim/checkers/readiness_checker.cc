#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "control/controller.h"
#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

using model::Toleration;

class ReadinessChecker : public Checker {
 public:
  ReadinessChecker(const World& world, Violate violate)
      : world_(world), violate_(std::move(violate)) {}

  void controller_loaded(const control::Durable& durable) override {
    places_.clear();
    for (const auto& [key, record] : durable.instances) remember(record);
    // What was not heard of before the start, and is after it, is news of its own: that it is back
    // is said only of a node that this life of the controller has missed.
    for (const auto& [id, node] : durable.nodes) occasions_ += was_silent(node) ? 1 : 0;
  }

  void controller_stepped(const control::Effects& effects) override {
    for (const control::Write& write : effects.writes) {
      if (write.table != control::table_of<model::InstanceRecord>() || !write.record) continue;
      const auto& record = write.record->get<model::InstanceRecord>();
      const auto before = places_.find(record.key);
      const bool is_new =
          record.place && (before == places_.end() || !before->second.contains(*record.place));
      if (is_new && !record.preinstalled) check(record);
      remember(record);
    }
  }

  // What was not made durable is told again.
  void controller_committed(const control::Effects& effects) override {
    for (const control::Note& note : effects.notes) count(note.kind);
  }

  void rested() override {
    std::uint64_t changes = occasions_;
    for (const auto& [node, host] : world_.agents()) changes += host->machine().readiness_changes();
    // Two machines that are both one node tell of their runtimes in turn.
    if (news_ > changes && world_.counts().clones == 0) {
      violate_("readiness",
               fmt::format("{} changes of conditions are told, for {} occasions", news_, changes));
    }
    for (const auto& [id, node] : world_.controller()->nodes()) check_rest(id, node);
  }

 private:
  static bool was_silent(const model::NodeRecord& node) {
    return std::ranges::any_of(node.conditions, [](const model::KeptCondition& condition) {
      return condition.status == model::ConditionStatus::Unknown;
    });
  }

  void remember(const model::InstanceRecord& record) {
    std::set<model::Place>& places = places_[record.key];
    places.clear();
    if (record.place) places.insert(*record.place);
    if (record.leaving) places.insert(record.leaving->place);
  }

  void count(control::NoteKind kind) {
    using control::NoteKind;
    if (kind == NoteKind::ConditionChanged) ++news_;
    const bool is_occasion = kind == NoteKind::NodeJoined || kind == NoteKind::NodeBack ||
                             kind == NoteKind::NodeUnreachable || kind == NoteKind::NodeLost;
    if (is_occasion) ++occasions_;
  }

  void check(const model::InstanceRecord& record) {
    const control::Durable& durable = world_.controller()->durable();
    const auto item = durable.items.find({record.key.item, record.version});
    const control::ObservedNode& node = world_.controller()->nodes().at(record.place->node);
    const model::Runtime* runtime = model::find_runtime(node.info, record.place->runtime);
    if (item == durable.items.end()) return;
    const auto& tolerates = item->second.tolerates;
    const bool is_ready = runtime != nullptr && runtime->ready == model::Readiness::Ready;
    if (!is_ready && !tolerates.contains(Toleration::RuntimeNotReady)) {
      violate_("readiness", fmt::format("{} is placed on {}, which is not ready",
                                        to_string(record.key), to_string(*record.place)));
    }
    if (!node.readiness.is_ready() && !tolerates.contains(Toleration::NodeNotReady)) {
      violate_("readiness", fmt::format("{} is placed on {}, a node that is not ready",
                                        to_string(record.key), to_string(*record.place)));
    }
  }

  void check_rest(const model::NodeId& id, const control::ObservedNode& node) {
    if (!node.reachable()) return;
    for (const control::Condition& condition : node.readiness.conditions) {
      if (condition.status == model::ConditionStatus::True) continue;
      violate_("readiness",
               fmt::format("{} of {} is {}, though all is well", model::to_string(condition.type),
                           id.value(), model::to_string(condition.status)));
    }
  }

  const World& world_;
  Violate violate_;
  // Where it was before; one that moves still serves where it comes from, and may stay there.
  std::map<model::InstanceKey, std::set<model::Place>> places_;
  std::uint64_t news_ = 0;
  std::uint64_t occasions_ = 0;
};

}  // namespace

CheckerPtr readiness_checker(const World& world, Violate violate) {
  return std::make_unique<ReadinessChecker>(world, std::move(violate));
}

}  // namespace berth::sim
