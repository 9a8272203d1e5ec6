#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/context.h"
#include "model/instance.h"

namespace berth::agent {

// The states of instances on their way: those that were handed to us, until a run has taken them;
// and those that were saved here, until the controller says that it has heard them. The last state
// of an instance that is no longer wanted is durable, so that it is not lost when the agent is.
class States {
 public:
  explicit States(const Restored& restored);

  // --- To this node.
  void hand(const model::SavedState& state, std::vector<Write>& writes);
  // What the next run of the instance goes on from; nullptr: what is there.
  const model::SavedState* handed(const model::InstanceKey& key) const;
  // A run has gone on from it, or nobody wants it any more.
  void drop_handed(const model::InstanceKey& key, std::vector<Write>& writes);

  // --- From this node.
  // False: that is known already, or not what counts.
  bool save(const Context& context, const StateSaved& saved);
  // The instance is not wanted and does not run: what was saved of it is the last.
  void end(const Context& context, const model::InstanceKey& key);
  void heard(const model::InstanceKey& key, const std::string& digest, std::vector<Write>& writes);

  // --- For the report of this step.
  void connected(Time now);
  std::optional<Time> next() const;  // when the next one is to be reported
  // Those of instances that have ended come first, and all of them in a full report: whoever hears
  // that an instance is gone must not lack its last state.
  enum class For { FullReport, Changes };
  std::vector<model::SavedState> take(const Context& context, For report);

 private:
  struct Unheard {
    model::SavedState state;
    Time due;
    bool ended = false;
  };
  using Unheards = std::map<model::InstanceKey, Unheard>;

  void forget_saved(const model::InstanceKey& key, std::vector<Write>& writes);

  std::map<model::InstanceKey, model::SavedState> handed_;
  Unheards unheard_;
  std::map<model::InstanceKey, std::string> heard_;     // the digest that the controller heard last
  std::map<model::InstanceKey, std::uint64_t> newest_;  // of what was saved
};

}  // namespace berth::agent
