#include "placement/rules/rules.h"

namespace berth::placement {
namespace {

std::optional<Shortfall> cpu_turns_down(const Candidate& candidate) {
  const Ledger& ledger = candidate.ledger;
  const auto cap_left = candidate.runtime ? ledger.runtime_cpu_left(candidate.slot) : std::nullopt;
  const auto left =
      lesser_left(ledger.node_cpu_left(candidate.slot.node, candidate.system_usage()), cap_left);
  return turn_down_if_short(candidate.asked.cpu, left);
}

}  // namespace

const Rule cpu_rule{Reason::InsufficientCpu, Purpose::Keep, About::Room, cpu_turns_down};

}  // namespace berth::placement
