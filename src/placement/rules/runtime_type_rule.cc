#include <algorithm>

#include "placement/rules/rules.h"

namespace berth::placement {
namespace {

std::optional<Shortfall> runtime_type_turns_down(const Candidate& candidate) {
  const auto& types = candidate.types;
  if (candidate.runtime != nullptr &&
      std::ranges::find(types, candidate.runtime->type) != types.end()) {
    return std::nullopt;
  }
  return Shortfall{};
}

}  // namespace

const Rule runtime_type_rule{Reason::NoMatchingRuntimeType, Purpose::Keep, About::Kind,
                             runtime_type_turns_down};

}  // namespace berth::placement
