#include "placement/rules/rules.h"

namespace berth::placement {
namespace {

std::optional<Shortfall> ram_turns_down(const Candidate& candidate) {
  const Ledger& ledger = candidate.ledger;
  const auto cap_left = candidate.runtime ? ledger.runtime_ram_left(candidate.slot) : std::nullopt;
  const auto left =
      lesser_left(ledger.node_ram_left(candidate.slot.node, candidate.system_usage()), cap_left);
  return turn_down_if_short(candidate.asked.ram, left);
}

}  // namespace

const Rule ram_rule{Reason::InsufficientRam, Purpose::Keep, About::Room, ram_turns_down};

}  // namespace berth::placement
