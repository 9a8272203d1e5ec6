#pragma once

#include "control/context.h"

// The passes of a step, in their order. Each looks at what is dirty, decides, and may be repeated
// without harm; each is explained in its own file.
namespace berth::control {

// Reachability of nodes by the clocks, and the settling after a start.
void nodes_pass(Context& context);
// What nodes make of their runtimes' readiness: conditions, and who is evicted.
void readiness_pass(Context& context);
// What is no longer kept: cached instances whose time is over, and their data.
void expiry_pass(Context& context);
// Components that were there before us become part of the cluster.
void adoption_pass(Context& context);
// Drains whose deadline has passed.
void drain_pass(Context& context);
// How much nodes are used, against their thresholds.
void thresholds_pass(Context& context);
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
// Addresses and names of what is placed, and what each node must know of networks.
void network_pass(Context& context);
// Writes down what is left of the times that run out.
void countdown_pass(Context& context);
// Commands to agents whose wanted instances changed. Ends the durable part of the step.
void commands_pass(Context& context);
// Drains that are done. After all that may change what is left on a node.
void drained_pass(Context& context);
// How much instances use, against the alerts of their items.
void alerts_pass(Context& context);
// What listeners hear.
void status_pass(Context& context);
// Apply calls that have come to rest.
void runs_pass(Context& context);

}  // namespace berth::control
