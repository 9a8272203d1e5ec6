#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "agent/events.h"
#include "runtime/files/directory_tree.h"
#include "runtime/files/instance_state.h"

namespace berth::agentd {

// The state directories of instances on this machine: packs what has changed, and puts what comes
// from elsewhere in its place. Safe to use from several threads.
class StateKeeper {
 public:
  explicit StateKeeper(runtime::MachineConfig machine) : machine_(std::move(machine)) {}

  // What the instance has written, if it has changed since the last look. Looking costs a walk over
  // names and times; only what has changed is read.
  std::optional<agent::StateSaved> look(const model::InstanceKey& key);

  // Before a start. What is there is said by the next look, whatever was said of an earlier run.
  void begin(const model::InstanceKey& key);
  // The same, from another state. What is not what its digest says is refused.
  runtime::Started<void> take(const model::InstanceSpec& spec, const model::SavedState& state);

 private:
  const runtime::MachineConfig machine_;
  std::mutex mutex_;
  std::map<model::InstanceKey, runtime::TreeFigures> seen_;
  std::uint64_t looks_ = 0;
};

}  // namespace berth::agentd
