#pragma once

#include "control/context.h"
#include "placement/snapshot.h"

namespace berth::control {

// The cluster as placement sees it.
placement::Snapshot snapshot_of(const Context& context);

placement::SnapshotNode view_of(const Context& context, const model::NodeRecord& record,
                                const ObservedNode& node);

}  // namespace berth::control
