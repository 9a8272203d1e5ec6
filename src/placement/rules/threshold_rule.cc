#include "placement/rules/rules.h"
#include "placement/thresholds.h"

namespace berth::placement {
namespace {

// While overloaded nodes are relieved, nobody is overloaded in their stead: a node takes in only
// what leaves it at or below its max threshold, and an overloaded one nothing.
std::optional<Shortfall> threshold_turns_down(const Candidate& candidate) {
  if (candidate.planned == nullptr) return std::nullopt;
  const SnapshotNode& node = candidate.node;
  if (node.overloaded.any()) return Shortfall{};
  const model::Thresholds& thresholds = node.settings.thresholds;
  const model::Usage usable = usable_capacity(node.info->capacity, thresholds);
  const model::Usage used = candidate.planned->of(candidate.slot.node);
  const model::Usage comes = expected_usage(candidate.request, candidate.asked);
  std::optional<Shortfall> shortfall;
  if (thresholds.cpu) shortfall = turn_down_if_short<Dmips>(comes.cpu, usable.cpu - used.cpu);
  if (shortfall || !thresholds.ram) return shortfall;
  return turn_down_if_short<Bytes>(comes.ram, usable.ram - used.ram);
}

}  // namespace

const Rule threshold_rule{Reason::AboveMaxThreshold, Purpose::Place, About::Room,
                          threshold_turns_down};

}  // namespace berth::placement
