#include <fmt/format.h>

#include "control/controller.h"
#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

class SessionPortChecker : public Checker {
 public:
  SessionPortChecker(const World& world, Violate violate)
      : world_(world), violate_(std::move(violate)) {}

  // Before it is done: who has them now.
  void acting_for_pool(const model::NodeId& node, const agent::PoolAction& action) override {
    const auto* open = std::get_if<agent::OpenEndpoints>(&action);
    if (open == nullptr || world_.was_cloned(node)) return;
    const auto& held = world_.agents().at(node)->machine().pools().endpoints();
    for (const model::SessionPort& port : open->ports) {
      const auto holder = held.find({port.external_address, port.external});
      if (holder == held.end() || holder->second == open->ref) continue;
      if (!is_wanted(holder->second) || !is_wanted(open->ref)) continue;

      violate_(
          "session ports",
          fmt::format("{}:{} is held by {}#{} on {}, and given to {}#{}", port.external_address,
                      port.external, to_string(holder->second.key), holder->second.incarnation,
                      node.value(), to_string(open->ref.key), open->ref.incarnation));
    }
  }

 private:
  // What a control plane has forgotten, and a node still has, is not given away knowingly: the node
  // refuses it.
  bool is_wanted(const model::SessionRef& ref) const {
    if (world_.controller() == nullptr) return false;
    const auto status = world_.controller()->status_of(ref.key);
    return status && status->ref == ref && !model::is_over(status->state);
  }

  const World& world_;
  Violate violate_;
};

}  // namespace

CheckerPtr session_port_checker(const World& world, Violate violate) {
  return std::make_unique<SessionPortChecker>(world, std::move(violate));
}

}  // namespace berth::sim
