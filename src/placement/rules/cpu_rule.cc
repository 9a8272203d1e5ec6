#include "placement/rules/rules.h"

namespace berth::placement {
namespace {

std::optional<Shortfall> turns_down(const Candidate& candidate) {
  const auto left =
      lesser_left(candidate.ledger.node_cpu_left(candidate.slot.node, candidate.system_usage()),
                  candidate.ledger.runtime_cpu_left(candidate.slot));
  return turn_down_if_short(candidate.asked.cpu, left);
}

}  // namespace

const Rule cpu_rule{Reason::InsufficientCpu, Purpose::Keep, turns_down};

}  // namespace berth::placement
