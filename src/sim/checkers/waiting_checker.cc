#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "control/controller.h"
#include "sim/checkers/account.h"
#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

bool has_all(const std::set<std::string>& has, const auto& asked) {
  return std::ranges::all_of(asked, [&](const std::string& one) { return has.contains(one); });
}

bool suits(const std::string& asked, const std::string& has) {
  return asked.empty() || asked == has;
}

bool suits(const model::Platform& asked, const model::Platform& has) {
  return suits(asked.os, has.os) && suits(asked.arch, has.arch) &&
         suits(asked.variant, has.variant) && suits(asked.os_version, has.os_version) &&
         has_all(has.os_features, asked.os_features);
}

bool can_run(const model::Runtime& runtime, const model::Item& item) {
  return std::ranges::any_of(item.images, [&](const model::Image& image) {
    const auto types = model::runtime_types_of(item, image);
    return std::ranges::find(types, runtime.type) != types.end() &&
           suits(image.platform, runtime.platform);
  });
}

// Looks for a place for what waits, once everything is ready and at rest. Pinned instances may wait
// for the place that they had, and components for their runtime.
class WaitingChecker : public Checker {
 public:
  WaitingChecker(const World& world, Violate violate)
      : world_(world), violate_(std::move(violate)) {}

  void rested() override {
    const control::Durable& durable = world_.controller()->durable();
    for (const auto& [name, deployment] : durable.deployments) {
      for (const model::RunRequest& request : deployment.run) check(durable, request);
    }
  }

 private:
  void check(const control::Durable& durable, const model::RunRequest& request) {
    for (std::uint32_t index = 0; index < request.instances.value_or(0); ++index) {
      const auto found = durable.instances.find({request.item, request.subject, index});
      if (found == durable.instances.end()) continue;
      if (found->second.phase != model::Phase::Waiting) continue;
      const auto item = durable.items.find({request.item, found->second.version});
      if (item == durable.items.end() || model::is_pinned(item->second)) continue;
      const auto place = free_place(durable, request, item->second);
      if (!place) continue;
      violate_("waiting", fmt::format("{} waits, and there is room on {}", to_string(found->first),
                                      to_string(*place)));
    }
  }

  std::optional<model::Place> free_place(const control::Durable& durable,
                                         const model::RunRequest& request,
                                         const model::Item& item) const {
    for (const auto& [node, record] : durable.nodes) {
      if (record.cordoned || !allows(durable, request, record)) continue;
      for (const model::Runtime& runtime : record.info.runtimes) {
        const model::Place place{node, runtime.id};
        if (can_run(runtime, item) && fits(durable, place, item)) return place;
      }
    }
    return std::nullopt;
  }

  static bool allows(const control::Durable& durable, const model::RunRequest& request,
                     const model::NodeRecord& node) {
    const auto& nodes = request.nodes;
    if (!nodes.empty() && std::ranges::find(nodes, node.id) == nodes.end()) return false;
    std::vector<const model::NodeConfig*> configs;
    for (const auto& [name, config] : durable.node_configs) configs.push_back(&config);
    return has_all(model::settings_for(node.id, node.info.type, configs).labels, request.labels);
  }

  bool fits(const control::Durable& durable, const model::Place& place,
            const model::Item& item) const {
    Account account(world_, durable);
    for (const auto& [key, instance] : durable.instances) {
      const auto other = durable.items.find({key.item, instance.version});
      if (!instance.place || other == durable.items.end()) continue;
      account.take(*instance.place, other->second);
    }
    for (const auto& [key, pool] : world_.controller()->sessions().pools().all()) {
      for (const auto& [number, member] : pool.pool.members()) {
        if (member.place) account.take(*member.place, *member.edition.item);
      }
    }
    account.take(place, item);
    return !account.excess_on(place.node) && lists_all(place.node, item);
  }

  // What asks for no unit of a shared resource must still find it on the node.
  bool lists_all(const model::NodeId& node, const model::Item& item) const {
    const auto& listed = world_.agents().at(node)->machine().info().shared_resources;
    return std::ranges::all_of(item.shared_resources, [&](const std::string& name) {
      return std::ranges::find(listed, name, &model::SharedResource::name) != listed.end();
    });
  }

  const World& world_;
  Violate violate_;
};

}  // namespace

CheckerPtr waiting_checker(const World& world, Violate violate) {
  return std::make_unique<WaitingChecker>(world, std::move(violate));
}

}  // namespace berth::sim
