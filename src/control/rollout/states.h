#pragma once

#include <optional>
#include <span>

#include "control/order.h"
#include "model/records.h"

// The states of instances: which node's word counts, and who is handed what.
namespace berth::control {

struct Context;

// A node says what the state of an instance is. It is kept if the word of this node counts: of the
// node that the kept one is from, until the instance has moved; then of its next place. What the
// node has said is looked at either way, and the node will be told so; but not what a copy says
// that has yet to prove itself, nor what does not count of one that is up and was not told to stop:
// it may yet. `gone`: what the same report says is not there any more.
void hear_state(Context& context, const model::NodeId& node, const model::SavedState& state,
                std::span<const model::InstanceKey> gone);

// The instance is active at its place: what it goes on from there is what counts, unless it may
// still have to go back.
void pass_state_on(Context& context, const model::InstanceRecord& record);

// What it goes on from at its place is what counts, proven or not: it is what serves.
void trust_state(Context& context, const model::InstanceRecord& record);

// A node that has never carried out a command has nothing of what it once had.
void forget_states_on(Context& context, const model::NodeId& node);

// What a node must be given before it starts the instance as told; nullopt: nothing.
std::optional<model::SavedState> state_for(const Context& context, const model::NodeId& node,
                                           const model::InstanceKey& key, const Order& what);

}  // namespace berth::control
