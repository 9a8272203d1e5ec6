#pragma once

#include "control/context.h"

// The passes of a step that are no room's, in their order. Each looks at what is dirty, decides,
// and may be repeated without harm; each is explained in its own file.
namespace berth::control {

// Components that were there before us become part of the cluster.
void adoption_pass(Context& context);
// Whether a rebalance is due.
void rebalance_pass(Context& context);
// Moves whose target does not come up: they are planned anew.
void moves_pass(Context& context);
// Changes of version, instance by instance: whose turn it is, then the launcher pass, until both
// are done.
void rollout_pass(Context& context);
// What runs where: plans, and turns the plan into records.
void launcher_pass(Context& context);
// Moves in progress: the source goes when the target is active.
void handover_pass(Context& context);
// Commands to agents whose wanted instances changed. Ends the durable part of the step.
void commands_pass(Context& context);
// What listeners hear.
void status_pass(Context& context);

}  // namespace berth::control
