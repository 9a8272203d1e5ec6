#pragma once

#include "model/node.h"

namespace berth::placement {

// Whether usage is above the max threshold of any resource that has a rule.
bool above_max(const model::Usage& usage, const model::Usage& capacity,
               const model::Thresholds& thresholds);

// What of its capacity an overloaded node counts while rebalancing: the min threshold, rounded
// down, of each resource that has a rule.
model::Usage relieved_capacity(const model::Usage& capacity, const model::Thresholds& thresholds);

}  // namespace berth::placement
