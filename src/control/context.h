#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/alarms.h"
#include "base/time.h"
#include "control/calls/calls.h"
#include "control/calls/runs.h"
#include "control/cluster/alerts.h"
#include "control/cluster/drains.h"
#include "control/cluster/loads.h"
#include "control/cluster/observed_node.h"
#include "control/cluster/reachability.h"
#include "control/cluster/readiness.h"
#include "control/hold/lives.h"
#include "control/lifetime/lifetime.h"
#include "control/network/network_room.h"
#include "control/step.h"

namespace berth::control {

// A run that is up, and whether it has shown that it is well.
struct Proof {
  model::CommandNumber order;  // that it is by
  std::uint32_t restarts = 0;
  Time active_since;
  bool done = false;
};

// What we know of an instance beside its record.
struct ObservedInstance {
  Time confirmed_by;           // when its node must have said a word about it
  bool is_new_there = false;   // has not been active since it got its place
  std::optional<Proof> proof;  // of the run that it shall have, while that is up
  Duration since{};            // the date when it came into the state that was published last
  std::optional<model::Problem> refusal;           // of the last decision, while it waits
  std::optional<model::InstanceStatus> published;  // what listeners have heard last
};

// An instance that has been told to run a new version, or somewhere else, and has yet to show that
// it does.
struct Trial {
  Time deadline;  // to be active
  // When the trial began; one more is a failure. Nullopt: its node has not been heard of since.
  std::optional<std::uint32_t> restarts;
  std::optional<Time> active_since;
};

// The new copy of an instance that moves, while the old one serves.
struct Move {
  model::Place target;
  Trial trial;
  bool is_last_resort = false;  // there is no other place: until its deadline it may fail
  Time go_back_at{};            // of a last resort, where nothing serves: it is tried again then
};

// Where an instance has not come up, each with when it may be tried there again.
struct Avoided {
  std::string version;
  std::map<model::NodeId, Time> until;
};

// A change of version that is under way: what we know beside its record.
struct Rollout {
  std::set<model::InstanceKey> turns;  // to be updated by the plan of this step
  std::map<model::InstanceKey, Trial> trials;
  std::set<model::InstanceKey> restarted;  // of an edited item: told, and on trial
  bool at_rest = false;                    // nothing more happens before a node is back
  bool look_again = false;                 // a place or a version has changed since the last look
  Time wake = kNever;
};

// What the launcher shall do beside its plain work.
struct Rebalance {
  std::optional<CallId> call;
  RebalanceScope scope = RebalanceScope::Overloaded;
  std::optional<std::set<model::NodeId>> only;  // the nodes to relieve; nullopt: all
};

// One rebalance at a time, from its plan until all has come to rest and was measured anew.
struct Rebalancing {
  std::deque<RebalanceCall> queue;
  std::optional<Rebalance> now;   // to be planned in this step
  std::optional<RunNumber> run;   // whose moves are on their way
  Time not_before = Time::min();  // of the next one
};

// What the passes must look at in this step.
struct Dirty {
  bool plan = false;
  bool everything = false;                                        // a hold has ended
  std::set<std::pair<model::NodeId, model::InstanceKey>> wanted;  // what an agent shall run
  std::set<model::InstanceKey> statuses;
  std::set<model::NodeId> letters;        // may need a command, though nothing of theirs changed
  std::set<model::NodeId> full_reports;   // to be asked of these
  std::set<model::NodeId> resends;        // these have not acted on what was sent
  std::set<model::ItemKey> edited_items;  // their documents changed, under the same version
};

// All that a step works on. One step at a time; nothing of it is shared. What rooms own nobody else
// changes; the rest is worked on by several passes.
struct Context : Step {
  using Step::Step;

  // Rooms.
  Reachability reachability;
  ReadinessRoom readiness;
  Lifetime lifetime;
  Drains drains;
  Loads loads;
  NetworkRoom network;
  Alerts alerts;
  Calls calls;
  Runs runs;
  Lives lives;

  // Observed: rebuilt from reports after a restart.
  Nodes nodes;
  IndexedMap<model::InstanceKey, ObservedInstance> instances;
  std::map<model::ItemKey, std::uint64_t> item_editions;  // grows when a document changes
  // Documents before they were edited, by edition, while there are rollouts: what waits for its
  // turn runs them. After a restart of the controller they are not known.
  std::map<std::pair<model::ItemKey, std::uint64_t>, model::Item> former_items;
  Changed changed_by_plan;
  std::map<model::InstanceKey, model::InstanceRecord> before_plan;  // of those of them that were
  std::set<model::InstanceKey> refused_starts;  // by agents; looked at by each plan
  std::set<model::NodeId> holding_back;         // where starts wait for room

  Dirty dirty;
  std::set<std::pair<Time, model::InstanceKey>> instance_alarms;
  std::uint64_t cluster_changes = 0;  // of anything that may make another plan possible
  Rebalancing rebalancing;
  std::map<RequestKey, Rollout> rollouts;
  std::set<RequestKey> partial_rollouts;  // asked for, and not begun yet
  std::map<model::InstanceKey, Move> moves;
  Alarms<model::InstanceKey> move_alarms;
  std::map<model::InstanceKey, std::string> failed_moves;  // why; until the next plan
  std::map<model::InstanceKey, Avoided> avoided;
  // What did not come up elsewhere starts again where it was, and stays there until it has.
  std::map<model::InstanceKey, model::NodeId> returning;
  Alarms<model::InstanceKey> avoided_alarms;

  // Changes a record and marks all that depends on it.
  void put(const model::InstanceRecord& record);
  void erase(model::InstanceKey key);  // by value: it may be the key of what is erased
  void mark(const model::InstanceRecord& record);
  // Everything on the node must be looked at: its reachability, or all that it says, has changed.
  void mark_all_on(const model::NodeId& id);

  // Every room forgets the node.
  void forget(const model::NodeId& id);

  ObservedNode* find_node(const model::NodeId& id);
  const ObservedNode* find_node(const model::NodeId& id) const;
};

}  // namespace berth::control
