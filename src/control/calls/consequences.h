#pragma once

#include <vector>

#include "control/events.h"
#include "control/plan_changes.h"

// What follows from a call: who starts, stops, moves, is updated or restarted.
namespace berth::control {

struct Context;

// REQUIRES: the plan for the call has just been made.
std::vector<Consequence> consequences_of_the_plan(const Context& context,
                                                  const PlanChanges& changes);

// How they are interrupted by that. REQUIRES: the nodes have their commands of this step, so that
// it is known who must stop first because others wait for the room.
void add_downtimes(const Context& context, std::vector<Consequence>& consequences);

}  // namespace berth::control
