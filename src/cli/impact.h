#pragma once

#include <string>

#include "cli/plan_table.h"

// What carrying out a placement does to those who use the instance now.
namespace berth::cli {

enum class Downtime {
  None,        // it starts, stays, or runs at its new place before it stops at the old one
  StopsFirst,  // it must stop at the old place before it starts at the new one
  Restarts,    // a new version takes the old one's place
  DownNow,     // its node does not run it any more; the plan brings it back
};

Downtime downtime_of(const placement::Placement& placement, const PlanView& view);

// For people: "none", "stops first", ...; empty for what does not move or change.
std::string downtime_text(const placement::Placement& placement, Downtime downtime);

}  // namespace berth::cli
