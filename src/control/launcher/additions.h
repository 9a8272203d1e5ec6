#pragma once

#include <map>
#include <optional>
#include <vector>

#include "control/tables.h"
#include "placement/cluster/cluster.h"
#include "placement/request.h"

// What a standing plan has to know of what is asked for in addition.
namespace berth::control {

struct Context;

// The instances of each request from that index on, and those that wait of requests that somebody
// asks for again, in scheduling order. nullopt: some have a past, so that everything is to be
// planned.
std::optional<std::vector<placement::Request>> additional_requests(
    const Context& context, const std::map<RequestKey, std::uint32_t>& more);

// What instances of a lower priority hold of the node, that could make room.
std::vector<placement::Holding> held_by_lower(const Context& context,
                                              const placement::Cluster& cluster, std::size_t node,
                                              std::int64_t priority);

}  // namespace berth::control
