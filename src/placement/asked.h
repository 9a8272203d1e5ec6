#pragma once

#include <set>
#include <string>

#include "model/item.h"
#include "model/node.h"
#include "placement/amounts.h"
#include "placement/snapshot.h"

namespace berth::placement {

// What an instance of the item asks of a node: the request, at most the quota; else a share of the
// quota; else a share of the node's capacity; else nothing. Components ask for nothing of this.
Amounts asked_of(const model::Item& item, const model::Usage& capacity,
                 const model::NodeSettings& settings);

// The shared resources that it takes one unit of. An item that skips limits takes none.
std::set<std::string> taken_resources(const model::Item& item);

// While rebalancing, an overloaded node believes what was measured if that is more.
Amounts raised_to_measured(Amounts asked, const model::Item& item, const model::Usage& measured);

}  // namespace berth::placement
