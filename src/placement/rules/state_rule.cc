#include "placement/rules/rules.h"

namespace berth::placement {
namespace {

// Where storage and state share a partition, state has what storage leaves.
std::optional<Shortfall> state_turns_down(const Candidate& candidate) {
  auto left = candidate.ledger.state_left(candidate.slot.node, candidate.asked.storage);
  if (left) left = std::max(*left, Bytes{});
  return turn_down_if_short(candidate.asked.state, left);
}

}  // namespace

const Rule state_rule{Reason::InsufficientState, Purpose::Keep, About::Room, state_turns_down};

}  // namespace berth::placement
