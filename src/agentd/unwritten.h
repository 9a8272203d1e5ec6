#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/events.h"
#include "store/store.h"

// What happens while the store takes nothing: the disk is full, say.
namespace berth::agentd {

// What was decided and is not durable, in the order of keys, each as it was decided last.
class Unwritten {
 public:
  bool empty() const { return changes_.empty(); }
  void add(const std::vector<agent::Write>& writes);
  std::vector<store::Change> changes() const;
  void clear() { changes_.clear(); }

 private:
  std::map<std::string, store::Change> changes_;
};

// What may be done of a step that could not be made durable, and what the core hears of the rest.
// What runs may be stopped, and whatever happened may be said: a next life of the agent that does
// not know of it learns it from the directories of the runs, or is told anew by the control plane.
// But nothing is started that it would not know of, and nothing is stopped for that.
struct Permitted {
  std::vector<agent::Action> actions;
  std::vector<agent::Event> refused;
};
Permitted permitted_without_store(const agent::Effects& effects, const std::string& problem);

}  // namespace berth::agentd
