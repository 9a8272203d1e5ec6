#pragma once

#include "control/launcher/rebalances.h"
#include "control/plan_changes.h"
#include "placement/standing_plan.h"

namespace berth::control {

struct Context;

// Who hears why it still has no place: those who wait already are not told again whenever there is
// a little more or less room than before.
enum class Tell { Everybody, WhoAskedAndWhoIsNew };

struct Recorded {
  bool any = false;   // record that has changed
  bool as_is = true;  // whoever has a place by the plan has it now
};

// Turns decisions about some into records: only what differs from the known records is written.
// `unasked`: nobody asks for them any more.
Recorded record_decisions(Context& context, const placement::Decisions& decisions,
                          const std::vector<model::InstanceRecord>& unasked, PlanChanges& changes);

// The same of a plan of everything: what it is not about nobody asks for. `rebalance`: what it was
// made for, if it is no plain one.
Recorded record_plan(Context& context, const placement::Decisions& decisions, Tell tell,
                     const Rebalance* rebalance, PlanChanges& changes);

}  // namespace berth::control
