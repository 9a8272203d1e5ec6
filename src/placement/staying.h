#pragma once

#include "placement/ask.h"

// What is asked of what runs before anything else: whether it is to stay where it is.
namespace berth::placement {

// Whether it has done what it was for, as it is asked for now.
bool has_finished(const Ask& request);

// Whether what runs of the request has to leave its node; nullptr: that is gone. REQUIRES: it runs.
Drain drain_of(const Ask& request, const SnapshotNode* node);

}  // namespace berth::placement
