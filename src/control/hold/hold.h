#pragma once

#include <string>

#include "control/context.h"

// A control plane whose store has lost what its agents can show would stop what it does not know
// and start again what was deleted. It does neither: it is held. It records what nodes say, serves
// reads and refuses changes until an operator has put the store right, or has said that it is. A
// hold is durable: what the store writes down meanwhile must not make it look complete.
namespace berth::control {

bool is_held(const Context& context);

// "n1 has carried out command 1.110, but the store ends at 1.100"
std::string to_text(const model::Hold& hold);

// What callers are told who want a change meanwhile; it names the ways out.
Error refusal_while_held(const model::Hold& hold);

// What a node has shown, against what the store knows: a hold may begin.
void compare(Context& context, const model::NodeId& node, const model::Receipt& receipt);

// Whether the node may have acted on this: nobody is believed who claims what was never ordered.
bool is_credible(const Context& context, const ObservedNode& node,
                 const model::CommandNumber& acted);

// While it is held: ends the durable part of the step, and asks the nodes what they were told.
void look_on(Context& context);

}  // namespace berth::control
