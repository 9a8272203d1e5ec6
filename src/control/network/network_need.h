#pragma once

#include "control/context.h"

// Which instances are on a network: services in containers and virtual machines, on nodes that say
// an address. All others use the network of their node.
namespace berth::control {

// The item, if the instance shall be on the network of its owner at its place; else nullptr.
const model::Item* networked_item(const Context& context, const model::InstanceRecord& record);

// The item, if a copy of it from this image would be on that network on the node; else nullptr.
const model::Item* networked_item(const Context& context, const model::ItemKey& key,
                                  std::uint32_t image, const model::NodeId& node);

}  // namespace berth::control
