#pragma once

#include <cstddef>
#include <cstdint>

#include "model/manifest.h"

namespace berth::bench {

// A unit as they are in the field: two platforms, three priorities, zones as labels, and some
// runtimes with a limit; and services that ask for a zone or not. All of them fit.
model::Manifest varied_cluster(std::size_t nodes, std::uint32_t instances);

// One item, asked for so often, on alike nodes.
model::Item plain_item();
model::NodeInfo plain_node();

}  // namespace berth::bench
