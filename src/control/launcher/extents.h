#pragma once

#include <map>
#include <optional>
#include <vector>

#include "control/launcher/launcher.h"
#include "placement/ask.h"
#include "placement/cluster/cluster.h"

// What a standing plan has to know of what is asked for in addition, or no longer.
namespace berth::control {

struct Context;

// The instances that requests ask for now and did not before, and those that wait of requests that
// somebody asks for again, in scheduling order. nullopt: some have a past, so that everything is to
// be planned.
std::optional<std::vector<placement::Ask>> additional_requests(
    const Context& context, const std::map<RequestKey, Extent>& extents);

// Those that were asked for before and are not now, in the order of their keys. nullopt: the same.
std::optional<std::vector<model::InstanceRecord>> unasked_instances(
    const Context& context, const std::map<RequestKey, Extent>& extents);

// What an instance holds of its place; nullopt: it cannot be told.
std::optional<placement::Holding> holding_of(const Context& context,
                                             const placement::Cluster& cluster,
                                             const model::InstanceRecord& record);

// What instances of a lower priority hold of the node, that could make room.
std::vector<placement::Holding> held_by_lower(const Context& context,
                                              const placement::Cluster& cluster, std::size_t node,
                                              std::int64_t priority);

}  // namespace berth::control
