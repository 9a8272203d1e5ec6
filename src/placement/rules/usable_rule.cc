#include "placement/rules/rules.h"

namespace berth::placement {
namespace {

// Cordoning and readiness are about new work only: what runs, runs on.
std::optional<Shortfall> turns_down(const Candidate& candidate) {
  const bool tolerated =
      candidate.request.item->tolerates.contains(model::Toleration::NodeNotReady);
  if (!candidate.node.cordoned && (candidate.node.ready || tolerated)) return std::nullopt;
  return Shortfall{};
}

}  // namespace

const Rule usable_rule{Reason::NoUsableNodes, Purpose::Place, turns_down};

}  // namespace berth::placement
