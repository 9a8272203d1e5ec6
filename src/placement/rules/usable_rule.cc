#include "placement/rules/rules.h"

namespace berth::placement {
namespace {

// Cordoning, readiness and a disk that takes nothing are about new work only: what runs, runs on.
std::optional<Shortfall> usable_turns_down(const Candidate& candidate) {
  const SnapshotNode& node = candidate.node;
  const bool tolerated =
      candidate.request.item->tolerates.contains(model::Toleration::NodeNotReady);
  const bool takes_new = !node.cordoned && node.info->store_problem.empty();
  if (takes_new && (node.ready || tolerated)) return std::nullopt;
  return Shortfall{};
}

}  // namespace

const Rule usable_rule{Reason::NoUsableNodes, Purpose::Place, About::Kind, usable_turns_down};

}  // namespace berth::placement
