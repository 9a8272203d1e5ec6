#pragma once

#include <vector>

#include "agent/events.h"
#include "base/result.h"
#include "store/store.h"

// The agent's records as the store keeps them: "wanted/item/subject/index", the same
// below "handed/" and "last/" for states and below "erasing/", "acted" and "network".
namespace berth::agentd {

std::vector<store::Change> to_changes(const std::vector<agent::Write>& writes);

// What the agent was told and had stored when it last ran. A record that cannot be read is an error
// that names its key.
Result<agent::Restored> load(const store::Store& store);

}  // namespace berth::agentd
