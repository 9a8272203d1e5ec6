#pragma once

#include <set>

#include "control/context.h"

// Who holds which address and which name. An instance has both from the moment that it is placed;
// it keeps its address while it lives, also when it moves or gets another version, and gives it
// back when nothing of it can run any more anywhere.
namespace berth::control {

// Who holds which address by its record.
void restore_holdings(const Durable& durable, Networks& networks);

// Brings names and addresses up to date for these instances, and for others whom that helps: they
// are added to the keys. Nodes that are forgotten give theirs back.
void update_holders(Context& context, Networks& networks, const std::set<model::NodeId>& nodes,
                    std::set<model::InstanceKey>& keys);

}  // namespace berth::control
