#pragma once

#include "model/item.h"
#include "model/node.h"

namespace berth::bench {

// One item, asked for so often, on alike nodes.
model::Item plain_item();
model::NodeInfo plain_node();

}  // namespace berth::bench
