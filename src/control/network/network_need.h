#pragma once

#include <optional>

#include "control/context.h"

// Which instances are on a network: services in containers and virtual machines, on nodes that say
// an address. All others use the network of their node.
namespace berth::control {

// The item, if the instance shall be on the network of its owner at its place; else nullptr.
const model::Item* networked_item(const Context& context, const model::InstanceRecord& record);

// What a copy of the instance, in this version and from this image, has of a network on the node.
std::optional<model::InstanceNetwork> network_at(const Context& context,
                                                 const model::InstanceKey& key,
                                                 const model::NodeId& node,
                                                 const std::string& version, std::uint32_t image);

}  // namespace berth::control
