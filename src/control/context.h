#pragma once

#include <tuple>

#include "control/calls/calls.h"
#include "control/calls/runs.h"
#include "control/cluster/alerts.h"
#include "control/cluster/drains.h"
#include "control/cluster/loads.h"
#include "control/cluster/observed_node.h"
#include "control/cluster/reachability.h"
#include "control/cluster/readiness.h"
#include "control/documents/documents.h"
#include "control/hold/lives.h"
#include "control/launcher/launcher.h"
#include "control/launcher/rebalances.h"
#include "control/lifetime/lifetime.h"
#include "control/network/network_room.h"
#include "control/orders/orders.h"
#include "control/rollout/moves.h"
#include "control/rollout/rollouts.h"
#include "control/session/session_room.h"
#include "control/statuses/statuses.h"
#include "control/step.h"

namespace berth::control {

// All that a step works on: what it lends to every room, the rooms, and what nodes have said. One
// step at a time; nothing of it is shared. What a room owns nobody else changes; what rooms may
// tell and ask each other is in their headers.
struct Context : Step {
  using Step::Step;

  Documents documents;
  Reachability reachability;
  ReadinessRoom readiness;
  Lifetime lifetime;
  Drains drains;
  Loads loads;
  Rebalances rebalances;
  Moves moves;
  Rollouts rollouts;
  Launcher launcher;
  NetworkRoom network;
  SessionRoom sessions;
  Orders orders;
  Alerts alerts;
  Statuses statuses;
  Calls calls;
  Runs runs;
  Lives lives;

  // What was heard of them: rebuilt from reports after a restart, and changed by these only.
  Nodes nodes;

  // Changes a record and marks all that depends on it.
  void put(const model::InstanceRecord& record);
  void erase(model::InstanceKey key);  // by value: it may be the key of what is erased
  void mark(const model::InstanceRecord& record);
  // Everything on the node must be looked at: its reachability, or all that it says, has changed.
  void mark_all_on(const model::NodeId& id);

  // Every room forgets the node.
  void forget(const model::NodeId& id);

  // When the first room wants to be called again.
  Time next() const;

  ObservedNode* find_node(const model::NodeId& id);
  const ObservedNode* find_node(const model::NodeId& id) const;

 private:
  // The list of rooms.
  template <class Self, class Each>
  static void for_each_room(Self& self, Each each) {
    std::apply([&](auto&... room) { (each(room), ...); },
               std::tie(self.documents, self.reachability, self.readiness, self.lifetime,
                        self.drains, self.loads, self.rebalances, self.moves, self.rollouts,
                        self.launcher, self.network, self.sessions, self.orders, self.alerts,
                        self.statuses, self.calls, self.runs, self.lives));
  }
};

}  // namespace berth::control
