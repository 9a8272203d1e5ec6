#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "control/controller.h"
#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

// An agent does not wait for ever for a runtime that hangs to tell what it runs, so for so long it
// may start what it would not if it knew.
constexpr Duration kGivenUp = 150s;

class SingleOwnerChecker : public Checker {
 public:
  SingleOwnerChecker(const World& world, Violate violate)
      : world_(world), violate_(std::move(violate)) {}

  void controller_stepped(const control::Effects& effects) override {
    if (effects.writes.empty()) return;
    const control::Durable& durable = world_.controller()->durable();
    check_uids(durable);
    check_gids(durable);
    check_places(durable);
  }

  // Only a start can make a second holder of something that exists.
  void acting(const model::NodeId& node, const agent::Action& action) override {
    const auto* start = std::get_if<agent::Start>(&action);
    if (start == nullptr || start->spec.item.skip_resource_limits) return;
    const Machine& machine = world_.agents().at(node)->machine();
    if (world_.now() - machine.hung_at() < kGivenUp) return;
    for (const std::string& name : start->spec.item.shared_resources) {
      const auto& listed = machine.info().shared_resources;
      const auto found = std::ranges::find(listed, name, &model::SharedResource::name);
      if (found == listed.end() || found->count == 0) continue;
      const std::set<model::InstanceKey> holders = holders_of(name, machine, *start);
      if (holders.size() <= found->count) continue;
      violate("{} is given to {} on {}, which makes {} holders of {}", name,
              to_string(start->spec.key), node.value(), holders.size(), found->count);
    }
  }

 private:
  void check_uids(const control::Durable& durable) {
    std::map<std::uint32_t, std::string> holders;
    for (const auto& [key, instance] : durable.instances) {
      if (instance.uid == 0) continue;
      const auto [at, is_new] = holders.emplace(instance.uid, to_string(key));
      if (!is_new) violate("uid {} is held by {} and {}", instance.uid, at->second, to_string(key));
    }
    for (const auto& [sequence, freed] : durable.freed_uids) {
      const auto [at, is_new] = holders.emplace(freed.id, "nobody");
      if (!is_new) violate("uid {} is free and held by {}", freed.id, at->second);
    }
  }

  void check_gids(const control::Durable& durable) {
    std::set<std::uint32_t> gids;
    for (const auto& [item, group] : durable.groups) {
      if (!gids.insert(group.gid).second) violate("gid {} is of two items", group.gid);
    }
  }

  void check_places(const control::Durable& durable) {
    for (const auto& [key, instance] : durable.instances) {
      if (key != instance.key) violate("the record of {} is another's", to_string(key));
      const bool placed = instance.phase == model::Phase::Placed;
      if (placed != instance.place.has_value()) violate("{} is half placed", to_string(key));
    }
  }

  static std::set<model::InstanceKey> holders_of(const std::string& name, const Machine& machine,
                                                 const agent::Start& start) {
    std::set<model::InstanceKey> holders{start.spec.key};
    for (const auto& [key, run] : machine.runs()) {
      const auto& taken = run.spec.item.shared_resources;
      if (run.spec.item.skip_resource_limits) continue;
      if (std::ranges::find(taken, name) != taken.end()) holders.insert(key.first);
    }
    return holders;
  }

  template <class... Args>
  void violate(fmt::format_string<Args...> format, Args&&... args) {
    violate_("single owner", fmt::format(format, std::forward<Args>(args)...));
  }

  const World& world_;
  Violate violate_;
};

}  // namespace

CheckerPtr single_owner_checker(const World& world, Violate violate) {
  return std::make_unique<SingleOwnerChecker>(world, std::move(violate));
}

}  // namespace berth::sim
