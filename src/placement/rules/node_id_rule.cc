#include <algorithm>

#include "placement/rules/rules.h"

namespace berth::placement {
namespace {

// A component generated for a runtime belongs there and nowhere else.
bool is_own(const Candidate& candidate) {
  const auto& own = candidate.request.own_runtime;
  if (!own) return true;
  return own->node == candidate.node.id && candidate.runtime != nullptr &&
         own->runtime == candidate.runtime->id;
}

std::optional<Shortfall> node_id_turns_down(const Candidate& candidate) {
  const auto& named = candidate.request.nodes;
  const bool allowed = named.empty() || std::ranges::find(named, candidate.node.id) != named.end();
  if (allowed && is_own(candidate)) return std::nullopt;
  return Shortfall{};
}

}  // namespace

const Rule node_id_rule{Reason::NoMatchingNodeId, Purpose::Keep, About::Name, node_id_turns_down};

}  // namespace berth::placement
