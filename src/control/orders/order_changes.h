#pragma once

#include <set>

#include "control/cluster/observed_node.h"

namespace berth::control {

struct Context;

// What changes for one agent in this step.
struct OrderChanges {
  std::set<model::InstanceKey> run;
  std::set<model::InstanceKey> stop;
  std::set<model::InstanceKey> erase;  // their data

  bool empty() const { return run.empty() && stop.empty() && erase.empty(); }
};

// Whether it runs by another document than it was started with, and it is not its turn to be
// started anew.
bool is_left_alone(const Context& context, const model::InstanceKey& key);

// Brings what the agent was told up to what it shall run now, as far as there is room: looks at
// these instances, and at those that were postponed or missed.
OrderChanges change_orders(Context& context, const model::NodeId& id, GivenOrders& given,
                           std::set<model::InstanceKey> keys);

}  // namespace berth::control
