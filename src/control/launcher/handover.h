#pragma once

#include "control/context.h"

// Moves: from the moment a new place is decided until the old one is really empty.
namespace berth::control {

// What the record of an instance shall say of the place it leaves, now that it goes to `target`.
// Nothing, if nothing of it can be there, or nobody can tell us when it has gone.
std::optional<model::Leaving> leaving_after_move(const Context& context,
                                                 const model::InstanceRecord& record,
                                                 const model::Place& target);

// Whether the node may still be running the instance, as far as we know.
bool may_run_on(const Context& context, const model::NodeId& node, const model::InstanceKey& key);

// What its node says of the run that we decided on; nullptr: nothing.
const model::ReportedStatus* run_at_its_place(const Context& context,
                                              const model::InstanceRecord& record);

// Whether the instance runs at its place, in its version, and is active.
bool is_active_at_its_place(const Context& context, const model::InstanceRecord& record);

// Whether its node has refused to start it, because the runtime is not ready there, before it was
// ever active at its place.
bool start_was_refused(const Context& context, const model::InstanceRecord& record);

// Its node owes us a word about it from now on, for as long as the confirm timeout.
void await_confirmation(Context& context, const model::InstanceKey& key);

}  // namespace berth::control
