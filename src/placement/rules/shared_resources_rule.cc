#include "placement/rules/rules.h"

namespace berth::placement {
namespace {

// An item that skips limits takes no unit, but its resources must be there all the same.
bool has_room(const Candidate& candidate, const std::string& resource) {
  const std::size_t node = candidate.slot.node;
  if (candidate.request.item->skip_resource_limits) {
    return candidate.ledger.lists_shared(node, resource);
  }
  return candidate.ledger.shared_left(node, resource).value_or(1) >= 1;
}

std::optional<Shortfall> shared_resources_turns_down(const Candidate& candidate) {
  for (const std::string& resource : candidate.request.item->shared_resources) {
    if (!has_room(candidate, resource)) return Shortfall{.asked = 1, .has = 0, .what = &resource};
  }
  return std::nullopt;
}

}  // namespace

const Rule shared_resources_rule{Reason::NoMatchingResources, Purpose::Keep, About::Room,
                                 shared_resources_turns_down};

}  // namespace berth::placement
