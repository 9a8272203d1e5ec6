#pragma once

#include "control/context.h"

// Whether what runs has shown that it is well: see docs/adr/0032.
namespace berth::control {

// How long one without a health check must be active.
Duration min_healthy_of(const Context& context, const model::InstanceRecord& record);

// Whether its node has vouched for it for as long; if not, it is looked at when that may be so.
bool has_been_active_since(Context& context, const model::InstanceRecord& record, Time since);

// Looks at what runs of the instance now. Every restart, and every new order to its node, begins
// anew; so does what cannot be heard of.
void look_at_proof(Context& context, const model::InstanceRecord* record,
                   ObservedInstance& observed);

}  // namespace berth::control
