#pragma once

#include <vector>

#include "agent/events.h"
#include "base/result.h"
#include "store/store.h"

// The agent's records as the store keeps them: "wanted/item/subject/index", the same
// below "handed/" and "last/" for states and below "erasing/", "acted", "network" and "doubt".
namespace berth::agentd {

std::vector<store::Change> to_changes(const std::vector<agent::Write>& writes);

// What the agent was told and had stored when it last ran. What cannot be read is left out, and
// named: then the agent is in doubt. An error: the store itself cannot be read.
struct Loaded {
  agent::Restored restored;
  std::vector<store::Entry> damaged;  // the values say what is wrong with them
  bool doubt_is_written = false;      // by an earlier life
};
Result<Loaded> load(const store::Store& store);

// Takes what is damaged away for good, and writes down that something is missing: the next life of
// the agent must know it too.
std::vector<store::Change> mended(const Loaded& loaded);

}  // namespace berth::agentd
