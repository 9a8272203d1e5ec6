#pragma once

#include "control/launcher/rebalances.h"
#include "control/plan_changes.h"
#include "placement/plan.h"
#include "placement/snapshot.h"

namespace berth::control {

struct Context;

// Turns a plan into records: only what differs from the known records is written. Whether any
// changed. `rebalance`: what the plan was made for, if it is no plain one.
bool record_plan(Context& context, const placement::Snapshot& snapshot, const placement::Plan& plan,
                 const Rebalance* rebalance, PlanChanges& changes);

}  // namespace berth::control
