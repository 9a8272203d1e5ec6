#pragma once

#include <filesystem>
#include <memory>

#include "base/result.h"
#include "store/store.h"

namespace berth::agentd {

// The agent's store, as it could be opened.
struct AgentStore {
  std::unique_ptr<store::Store> store;
  bool was_lost = false;  // it does not say all that the agent was told
};

// A store that cannot be read falls back to its last good state, or to nothing
// (shell/open_store.h); that good state says that the agent is in doubt before it is used, for a
// next life of the agent would not see that anything was lost. One that is missing beside what runs
// was lost. With a full disk an empty one takes nothing until there is room. An error: another
// process has it open, or a newer program wrote it.
Result<AgentStore> open_agent_store(const std::filesystem::path& state_dir);

}  // namespace berth::agentd
