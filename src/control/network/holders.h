#pragma once

#include <set>

#include "control/context.h"

// Who holds which address and which name. An instance has both from the moment that it is placed;
// it keeps its address while it lives, also when it moves or gets another version, and gives it
// back when nothing of it can run any more anywhere.
namespace berth::control {

// Whether something of the instance may run on the node, as far as it has told us.
bool is_present(const Context& context, const model::NodeId& node, const model::InstanceKey& key);

// At a start: who holds which address by its record, before anything is erased.
void restore_holdings(Context& context);

// Brings names and addresses up to date for these instances, and for others whom that helps: they
// are added to the keys.
void update_holders(Context& context, std::set<model::InstanceKey>& keys);

}  // namespace berth::control
