#pragma once

#include "control/context.h"
#include "placement/snapshot.h"

namespace berth::control {

// The cluster as placement sees it.
placement::Snapshot snapshot_of(const Context& context);

// Where the instance has what it cannot take along; nullopt: nowhere, or just where it is.
std::optional<placement::Home> home_of(const Durable& durable, const model::InstanceRecord& record);

placement::NodeView view_of(const Context& context, const model::NodeRecord& record,
                            const ObservedNode& node);

// What placement needs of a node's readiness, for a view whose `info` is set.
void add_readiness(placement::NodeView& view, const NodeReadiness& readiness,
                   Duration date_of_zero);

}  // namespace berth::control
