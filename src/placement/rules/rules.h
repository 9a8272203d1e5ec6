#pragma once

#include "placement/rule.h"

// The rules by name; rules.cc gives their order, and each is explained in its own file.
namespace berth::placement {

extern const Rule connected_rule;
extern const Rule usable_rule;
extern const Rule node_id_rule;
extern const Rule labels_rule;
extern const Rule shared_resources_rule;
extern const Rule runtime_type_rule;
extern const Rule platform_rule;
extern const Rule readiness_rule;
extern const Rule cpu_rule;
extern const Rule ram_rule;
extern const Rule storage_rule;
extern const Rule state_rule;
extern const Rule instance_count_rule;
extern const Rule threshold_rule;
extern const Rule failed_there_rule;

// For the rules that compare amounts: turns down if less is left than asked for. nullopt =
// unlimited.
template <class Q>
std::optional<Shortfall> turn_down_if_short(Q asked, std::optional<Q> left) {
  if (!left || *left >= asked) return std::nullopt;
  return Shortfall{.asked = asked.count(), .has = std::max(*left, Q{}).count(), .what = nullptr};
}

// A runtime with its own cap has the lesser of what the node and the cap leave. Never below 0, so
// that who asks for nothing fits even where what runs was kept past the rules.
template <class Q>
std::optional<Q> lesser_left(Q node_left, std::optional<Q> cap_left) {
  const Q left = cap_left ? std::min(node_left, *cap_left) : node_left;
  return std::max(left, Q{});
}

}  // namespace berth::placement
