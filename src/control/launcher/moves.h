#pragma once

#include "control/context.h"

// The new copy of an instance is on trial while the old one serves, or can be started again.
namespace berth::control {

// Begins to watch over the new copy of an instance that moves, or goes on.
void watch_move(Context& context, const model::InstanceRecord& record);

// Whether the new copy has proven itself. Begins to watch over it.
bool has_arrived(Context& context, const model::InstanceRecord& record);

void forget_move(Context& context, const model::InstanceKey& key);

// Whether the move of the instance has failed, and it shall be planned as if it still were where it
// serves, or was stopped to hand over.
bool has_failed_to_move(const Context& context, const model::InstanceRecord& record);

// There is no other place for what has failed to move: it goes on with the one that it has.
// Whether that changes the plan.
bool go_on_moving(Context& context, const model::InstanceKey& key);

// Somebody asks again: what has failed somewhere may be tried there once more.
void avoid_nothing(Context& context, const RequestKey& request);

}  // namespace berth::control
