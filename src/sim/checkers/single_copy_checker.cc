#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "control/controller.h"
#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

// How long a copy too many may live on a node where nothing goes wrong: a report, a command, and
// the time that it takes to stop, each once more for a repeat.
constexpr Duration kStrayLife = 45s;
// What a runtime that hung was asked to do may be lost, and is asked again only after this.
constexpr Duration kForgotten = 150s;
// Within this time after trouble, what the controller knows of a node may be old.
constexpr Duration kSettled = 30s;

class SingleCopyChecker : public Checker {
 public:
  SingleCopyChecker(const World& world, Violate violate)
      : world_(world), violate_(std::move(violate)) {}

  void controller_committed(const control::Effects& effects) override {
    for (const control::Write& write : effects.writes) {
      if (write.table != control::table_of<model::InstanceRecord>() || !write.record) continue;
      note_leaving(write.record->get<model::InstanceRecord>());
    }
  }

  void ticked() override {
    if (world_.controller() == nullptr) return surplus_since_.clear();
    copies_.clear();
    for (const auto& [node, host] : world_.agents()) {
      for (const auto& [key, run] : host->machine().runs()) {
        const bool counts = run.state == Run::State::Running && !run.preinstalled &&
                            !model::is_pool_instance(key.first);
        if (counts) ++copies_[{key.first, node}];
      }
    }
    check_surplus();
    check_stop_first();
  }

 private:
  using Where = std::pair<model::InstanceKey, model::NodeId>;

  const model::InstanceRecord* record(const model::InstanceKey& key) const {
    const auto& instances = world_.controller()->durable().instances;
    const auto found = instances.find(key);
    return found == instances.end() ? nullptr : &found->second;
  }

  // One that leaves may first serve on, and be told to stop when the other has come: that is not
  // seen from its record any more.
  void note_leaving(const model::InstanceRecord& record) {
    if (!record.leaving) {
      serves_on_.erase(record.key);
    } else if (!record.leaving->stop_first) {
      serves_on_.insert_or_assign(record.key, record.leaving->place);
    }
  }
  bool has_served_on(const model::InstanceRecord& record) const {
    const auto found = serves_on_.find(record.key);
    return found != serves_on_.end() && found->second == record.leaving->place;
  }

  // One where it is decided to be, and one where it is leaving: the hand-over.
  int rightful(const Where& where) const {
    const model::InstanceRecord* instance = record(where.first);
    if (instance == nullptr) return 0;
    const bool here = instance->place && instance->place->node == where.second;
    const bool leaves = instance->leaving && instance->leaving->place.node == where.second;
    return here || leaves ? 1 : 0;
  }

  void check_surplus() {
    std::map<Where, Time> before = std::exchange(surplus_since_, {});
    for (const auto& [where, count] : copies_) {
      if (count <= rightful(where)) continue;
      const auto known = before.find(where);
      const Time since = known == before.end() ? world_.now() : known->second;
      surplus_since_.emplace(where, since);
      const Machine& machine = world_.agents().at(where.second)->machine();
      if (world_.now() - machine.hung_at() < kForgotten) continue;
      const Time calm = std::max(since, world_.calm_since(where.second));
      if (!world_.network().connected(where.second) || world_.now() - calm <= kStrayLife) continue;
      violate_("single copy",
               fmt::format("{} runs {} times on {}, where {} may run", to_string(where.first),
                           count, where.second.value(), rightful(where)));
    }
  }

  void check_stop_first() {
    const control::Durable& durable = world_.controller()->durable();
    for (const auto& [key, instance] : durable.instances) {
      if (!instance.leaving || !instance.leaving->stop_first || !instance.place) continue;
      const model::NodeId& from = instance.leaving->place.node;
      const model::NodeId& to = instance.place->node;
      if (from == to || !copies_.contains({key, from}) || !copies_.contains({key, to})) continue;
      if (world_.now() - std::max(world_.calm_since(from), world_.calm_since(to)) < kSettled) {
        continue;
      }
      if (world_.was_cloned(from) || world_.was_cloned(to)) continue;
      // Whoever is away cannot be told.
      if (has_served_on(instance) && !world_.network().connected(from)) continue;
      // The source of a hand-over is told to stop when its target has arrived: that may be lost,
      // too.
      if (world_.now() - world_.agents().at(from)->machine().hung_at() < kForgotten) continue;
      violate_("single copy", fmt::format("{} runs on {} and {}, and is to be stopped first",
                                          to_string(key), from.value(), to.value()));
    }
  }

  const World& world_;
  Violate violate_;
  std::map<Where, int> copies_;
  std::map<Where, Time> surplus_since_;
  std::map<model::InstanceKey, model::Place> serves_on_;
};

}  // namespace

CheckerPtr single_copy_checker(const World& world, Violate violate) {
  return std::make_unique<SingleCopyChecker>(world, std::move(violate));
}

}  // namespace berth::sim
