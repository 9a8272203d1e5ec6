#pragma once

#include <map>
#include <string_view>

#include "placement/directory.h"
#include "placement/plan.h"

// What carrying out a placement does to those who use the instance now.
namespace berth::placement {

enum class Downtime {
  None,        // it starts, stays, or runs at its new place before it stops at the old one
  StopsFirst,  // it must stop at the old place before it starts at the new one
  Restarts,    // a new version takes the old one's place
  DownNow,     // its node does not run it any more; the plan brings it back
};

std::string_view to_string(Downtime downtime);

// Of those that the plan moves or changes.
using Downtimes = std::map<model::InstanceKey, Downtime>;

Downtimes downtimes_of(const Snapshot& snapshot, const Plan& plan);

}  // namespace berth::placement
