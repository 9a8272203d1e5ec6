#pragma once

#include <map>
#include <set>

#include "base/indexed_map.h"
#include "model/records.h"

namespace berth::control {

// Instances that a plan has changed, with the nodes where they were.
using Changed = IndexedMap<model::InstanceKey, std::set<model::NodeId>>;

// What the plans of a step have changed.
struct PlanChanges {
  Changed changed;
  std::map<model::InstanceKey, model::InstanceRecord> before;  // of those that there were
};

}  // namespace berth::control
