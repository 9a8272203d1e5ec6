#include <fmt/format.h>

#include <algorithm>

#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

// For so long what a node has said may be on its way, or be what the controller goes by until it
// gives the node up.
constexpr Duration kOnItsWay = 30s;
// For so long after a runtime has hung, or lied, an agent may go by what it had to assume.
constexpr Duration kSessionAssumptions = 180s;

class SessionTruthChecker : public Checker {
 public:
  SessionTruthChecker(const World& world, Violate violate)
      : world_(world), violate_(std::move(violate)) {}

  void replying(const control::SessionReply& reply) override {
    const auto* status = std::get_if<model::SessionStatus>(&reply.answer);
    if (status == nullptr || !model::is_usable(status->state)) return;
    const auto host = world_.agents().find(status->node);
    if (host == world_.agents().end()) return violate(*status, "on no node");
    if (world_.was_cloned(status->node) || is_assumed(host->second->machine())) return;
    const auto& all = host->second->machine().pools().served();
    const auto served = all.find(status->ref);
    if (served == all.end() || served->second.instance != status->instance) {
      return violate(*status, "and nobody was ever reached there");
    }
    const auto& until = served->second.until;
    if (until && world_.now() - std::max(*until, world_.controller_calm_since()) > kOnItsWay) {
      violate(*status, "and nobody has been reached there for long");
    }
  }

 private:
  bool is_assumed(const Machine& machine) const {
    return world_.now() - std::max(machine.hung_at(), machine.lied_at()) < kSessionAssumptions;
  }

  void violate(const model::SessionStatus& status, const char* what) {
    violate_("session truth",
             fmt::format("{} is said to be available on {} of {}, {}", to_string(status.ref.key),
                         to_string(status.instance), status.node.value(), what));
  }

  const World& world_;
  Violate violate_;
};

}  // namespace

CheckerPtr session_truth_checker(const World& world, Violate violate) {
  return std::make_unique<SessionTruthChecker>(world, std::move(violate));
}

}  // namespace berth::sim
