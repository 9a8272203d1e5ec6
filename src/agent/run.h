#pragma once

#include <optional>
#include <set>
#include <string>

#include "agent/events.h"
#include "agent/health.h"
#include "agent/restart.h"
#include "agent/standstill.h"
#include "base/time.h"
#include "model/ids.h"
#include "model/item.h"
#include "model/protocol.h"

namespace berth::agent {

// A run that may be alive: started by us and not known to have ended, or found.
struct Run {
  enum class Phase { Starting, Running, Stopping };

  RunId id;
  model::RuntimeId runtime;
  model::ItemType type = model::ItemType::Service;
  std::string version;
  model::CommandNumber serves;  // the wanted generation it runs for; zero: found, not adopted
  Phase phase = Phase::Starting;
  bool confirmed = false;           // the runtime has said that it runs
  Time overdue;                     // starting, stopping: when the answer is late
  std::optional<Cause> blamed_for;  // stopping: what its end is called; nullopt: just not wanted
  std::optional<Health> health;     // running, and not paused, for an item that has a check
  Standstill standstill;
  model::Problem remark;  // of its runtime: starting, what it waits for; running, what is wrong
  std::optional<Time> active_since;
  std::set<std::string> holds;  // what is shared; of a found run that nobody wants: not known
  std::optional<model::InstanceSpec> started_with =
      {};  // of one that was found, until it is adopted

  bool is_found() const { return serves == model::CommandNumber{}; }
};

}  // namespace berth::agent
