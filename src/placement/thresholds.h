#pragma once

#include "model/node.h"
#include "placement/snapshot.h"

namespace berth::placement {

// Of which resources usage is above the max threshold; only those that have a rule.
Overload above_max(const model::Usage& usage, const model::Usage& capacity,
                   const model::Thresholds& thresholds);

// What of its capacity an overloaded node counts while rebalancing, and may use to be relieved: the
// min threshold, rounded down, of each resource that has a rule.
model::Usage relieved_capacity(const model::Usage& capacity, const model::Thresholds& thresholds);

// What may be used of a node before it is above a max threshold; all of a resource without a rule.
model::Usage usable_capacity(const model::Usage& capacity, const model::Thresholds& thresholds);

}  // namespace berth::placement
