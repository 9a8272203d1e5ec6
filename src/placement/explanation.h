#pragma once

#include <set>

#include "placement/plan.h"
#include "placement/snapshot.h"

namespace berth::placement {

// Those that can be asked about: what is asked for, and what runs.
std::set<model::InstanceKey> known_instances(const Snapshot& snapshot);

// What the plan, which was made to explain this instance, says about it. What runs and is not asked
// for any more has no verdicts: nothing was decided about it.
Explanation explanation_of(const Plan& plan, const model::InstanceKey& key);

}  // namespace berth::placement
