#pragma once

#include <optional>
#include <string>

#include "control/order.h"
#include "model/records.h"

// Moves: from the moment a new place is decided until the old one is really empty.
namespace berth::control {

struct Context;

// A node that is lost is not waited for: what turns up there later is stopped.
bool is_given_up(const Context& context, const model::NodeId& node);

// Nothing can run there, by the word of the node itself or because it is given up. As long as it is
// heard of, it is asked to stop what it has, and that is waited for.
bool is_failed_node(const Context& context, const model::NodeId& node);

// What the record of an instance shall say of the place it leaves, now that it goes to `target`, in
// this version. Nothing, if nothing of it can be there, or nobody can tell us when it has gone.
std::optional<model::Leaving> begin_to_leave(Context& context, const model::InstanceRecord& record,
                                             const model::Place& target,
                                             const std::string& version);

// The same of one that has no place and gets one: a copy of an earlier time may not have gone yet.
std::optional<model::Leaving> leaving_from_home(const Context& context,
                                                const model::InstanceRecord& record,
                                                const model::Place& target);

// Whether nothing of it runs at its place yet: it is only prepared there while another copy runs.
bool is_only_prepared(const model::InstanceRecord& record);

// Whether all is prepared at its place.
bool is_prepared(const Context& context, const model::InstanceRecord& record);

// Whether the node may still be running the instance, as far as we know.
bool may_run_on(const Context& context, const model::NodeId& node, const model::InstanceKey& key);

// What its node says of the run that we decided on; nullptr: nothing.
const model::ReportedStatus* run_at_its_place(const Context& context,
                                              const model::InstanceRecord& record);

// Whether that is to run it as decided, by the latest edition of its item.
bool is_as_decided(const Context& context, const model::InstanceRecord& record, const Order& what);

// Whether its node has been told to run it as decided, by the latest edition of its item. Until
// then it waits: for room, for its address, or for the copy that must stop first.
bool is_told(const Context& context, const model::InstanceRecord& record);

// The same, but not before the node has been told of the latest edition of its item and has acted
// on that: of an older run that looks alike nothing can be learnt.
const model::ReportedStatus* run_as_told(const Context& context,
                                         const model::InstanceRecord& record);

// Whether the instance runs at its place, in its version, and is up.
bool is_active_at_its_place(const Context& context, const model::InstanceRecord& record);

// Moves in progress: the source goes when the target is active.
void hand_over(Context& context);

// Whether its node has refused to start it, because the runtime is not ready there, before it was
// ever active at its place.
bool start_was_refused(const Context& context, const model::InstanceRecord& record);

// What serves in the meantime: the copy at the place that the instance leaves, as long as that is
// up and the new one has not proven itself; nullptr: none does.
const model::ReportedStatus* copy_that_serves(const Context& context,
                                              const model::InstanceRecord& record);

// Whether the new copy serves although it has yet to prove itself, because the old one has handed
// over. It is left like any other, unless it has failed.
bool serves_on_trial(const Context& context, const model::InstanceRecord& record);

// Whether there is something to go back to if the new copy fails: one that serves, or the place
// where it is stopped to hand its state over.
bool can_go_back(const Context& context, const model::InstanceRecord& record);

}  // namespace berth::control
