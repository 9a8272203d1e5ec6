#include "placement/rules/rules.h"

namespace berth::placement {
namespace {

std::optional<Shortfall> instance_count_turns_down(const Candidate& candidate) {
  const auto left = candidate.ledger.instances_left(candidate.slot);
  if (!left || *left >= 1) return std::nullopt;
  return Shortfall{.asked = 1, .has = 0, .what = nullptr};
}

}  // namespace

const Rule instance_count_rule{Reason::InstanceLimitReached, Purpose::Keep, About::Room,
                               instance_count_turns_down};

}  // namespace berth::placement
