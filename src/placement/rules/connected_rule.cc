#include "placement/rules/rules.h"

namespace berth::placement {
namespace {

// A node that is silent for a while keeps what it runs, but gets nothing new.
bool in_contact(const Candidate& candidate) {
  switch (candidate.node.reachability) {
    case Reachability::Connected: return true;
    case Reachability::Unreachable: return candidate.purpose == Purpose::Keep;
    case Reachability::Lost: return false;
  }
  CHECK(false, "unknown reachability");
}

std::optional<Shortfall> connected_turns_down(const Candidate& candidate) {
  const bool provisioned = candidate.node.info->state == model::NodeState::Provisioned;
  if (provisioned && in_contact(candidate)) return std::nullopt;
  return Shortfall{};
}

}  // namespace

const Rule connected_rule{Reason::NoConnectedNodes, Purpose::Keep, About::Kind,
                          connected_turns_down};

}  // namespace berth::placement
