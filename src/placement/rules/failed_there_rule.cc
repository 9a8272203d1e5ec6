#include "placement/rules/rules.h"

namespace berth::placement {
namespace {

// Where an instance has just failed to come up it would fail again; what runs there may stay.
std::optional<Shortfall> failed_there_turns_down(const Candidate& candidate) {
  const auto* avoided = candidate.request.avoided;
  if (avoided == nullptr || !avoided->contains(candidate.node.id)) return std::nullopt;
  return Shortfall{};
}

}  // namespace

const Rule failed_there_rule{Reason::FailedThere, Purpose::Place, About::Name,
                             failed_there_turns_down};

}  // namespace berth::placement
