#include "placement/rules/rules.h"

namespace berth::placement {
namespace {

std::optional<Shortfall> storage_turns_down(const Candidate& candidate) {
  auto left = candidate.ledger.storage_left(candidate.slot.node);
  if (left) left = std::max(*left, Bytes{});
  return turn_down_if_short(candidate.asked.storage, left);
}

}  // namespace

const Rule storage_rule{Reason::InsufficientStorage, Purpose::Keep, About::Room,
                        storage_turns_down};

}  // namespace berth::placement
