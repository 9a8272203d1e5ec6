#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/time.h"
#include "model/ids.h"

namespace berth::control {

// Times that run out and survive a restart. A record holds what was left when it was written down;
// here is when that was. An idle cluster writes nothing, so what is on disk may be older than the
// truth: after a crash things last longer by that, never shorter. Overrides hold the date of that
// too, and so end in time even if there was no control plane.
struct Countdowns {
  struct Kept {
    Time written;  // when `kept_for` was written down
    Time until;
  };
  std::map<model::InstanceKey, Kept> cached;
  std::set<std::pair<Time, model::InstanceKey>> cached_until;
  std::map<std::string, Time> overrides;  // when `expires` of their variables was written down
  std::optional<Time> written_down;       // all of them, the last time
  std::set<model::InstanceKey> emptied;   // their data are gone, and their addresses not yet

  // Nothing runs out.
  bool empty() const { return cached.empty() && overrides.empty(); }
};

}  // namespace berth::control
