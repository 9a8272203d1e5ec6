#include "placement/rules/rules.h"

namespace berth::placement {
namespace {

std::optional<Shortfall> turns_down(const Candidate& candidate) {
  const auto left =
      lesser_left(candidate.ledger.node_ram_left(candidate.slot.node, candidate.system_usage()),
                  candidate.ledger.runtime_ram_left(candidate.slot));
  return turn_down_if_short(candidate.asked.ram, left);
}

}  // namespace

const Rule ram_rule{Reason::InsufficientRam, Purpose::Keep, turns_down};

}  // namespace berth::placement
