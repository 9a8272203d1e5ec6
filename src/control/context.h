#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/alarms.h"
#include "base/time.h"
#include "control/cluster/observed_node.h"
#include "control/config.h"
#include "control/countdowns.h"
#include "control/events.h"
#include "control/network/networks.h"
#include "control/state.h"

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
  std::optional<model::Problem> network_problem;   // why it cannot be on its network
  std::optional<model::InstanceStatus> published;  // what listeners have heard last
};

// A node that is being drained.
struct Drain {
  Time deadline = kNever;
  bool done = false;  // nothing is left there, and that has been said
};

// A call that has been carried out, and is answered when the step is sealed.
struct AcceptedCall {
  CallId call = 0;
  bool planned = false;  // then the answer tells what was refused
  std::vector<Consequence> consequences = {};
  std::vector<placement::Relief> relief = {};
  std::vector<model::InstanceKey> moved = {};
};

// An instance that has been told to run a new version, or somewhere else, and has yet to show that
// it does.
struct Trial {
  Time deadline;               // to be active
  std::uint32_t restarts = 0;  // when the trial began; one more is a failure
  std::optional<Time> active_since;
};

// The new copy of an instance that moves, while the old one serves.
struct Move {
  model::Place target;
  Trial trial;
  bool is_last_resort = false;  // there is no other place: until its deadline it may fail
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

// What a plan changed: each instance with the nodes that it was on before.
using Changed = IndexedMap<model::InstanceKey, std::set<model::NodeId>>;

// An instance that a run is about.
struct Awaited {
  std::set<model::NodeId> nodes_before;  // that it must have gone from
  bool at_rest = false;                  // for now: what was well may fail before the others are
};

// What was asked for or changed, by a call or by a rebalance of our own, and has not come to rest
// yet.
struct PendingRun {
  std::optional<CallId> call;  // who waits for it
  Time deadline;
  IndexedMap<model::InstanceKey, Awaited> awaited;  // what the final answer tells of
  std::size_t restless = 0;                         // of them
  std::set<RequestKey> rollouts;                    // not yet at rest
  // Whose going back the final answer tells of, each with the version that was asked for.
  std::map<RequestKey, std::string> asked_for;
  bool superseded = false;  // another call asks for something else
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
  std::optional<Rebalance> now;      // to be planned in this step
  std::optional<std::uint64_t> run;  // whose moves are on their way
  Time not_before = Time::min();     // of the next one
};

// What the passes must look at in this step.
struct Dirty {
  bool plan = false;
  bool everything = false;                                        // a hold has ended
  std::set<model::NodeId> nodes;                                  // reachability
  std::set<model::NodeId> loads;                                  // against their thresholds
  std::set<model::NodeId> readiness;                              // of their runtimes
  std::set<std::pair<model::NodeId, model::InstanceKey>> wanted;  // what an agent shall run
  std::set<model::InstanceKey> statuses;
  std::set<model::InstanceKey> alerts;    // what they use, against the alerts of their items
  std::set<model::NodeId> letters;        // may need a command, though nothing of theirs changed
  std::set<model::NodeId> full_reports;   // to be asked of these
  std::set<model::NodeId> resends;        // these have not acted on what was sent
  std::set<model::NodeId> networks;       // said something else of themselves, or were forgotten
  std::set<model::ItemKey> edited_items;  // their documents changed, under the same version
  std::set<std::pair<model::NodeId, model::InstanceKey>> erased;  // their data are gone from there
};

// All that the passes work on. One step at a time; nothing of it is shared.
struct Context {
  Context(Config configuration, Durable restored)
      : config(configuration), state(std::move(restored)) {}

  const Config config;
  State state;

  // Observed: rebuilt from reports after a restart.
  std::map<model::NodeId, ObservedNode> nodes;
  IndexedMap<model::InstanceKey, ObservedInstance> instances;
  std::map<model::ItemKey, std::uint64_t> item_editions;  // grows when a document changes
  // Documents before they were edited, by edition, while there are rollouts: what waits for its
  // turn runs them. After a restart of the controller they are not known.
  std::map<std::pair<model::ItemKey, std::uint64_t>, model::Item> former_items;
  std::set<ListenerId> listeners;
  std::map<std::uint64_t, PendingRun> runs;  // in the order of acceptance, so of deadlines too
  IndexedMap<model::InstanceKey, std::set<std::uint64_t>> runs_waiting_for;
  std::uint64_t next_run = 0;
  std::vector<CallId> unplanned_calls;  // accepted, but not planned yet
  std::vector<AcceptedCall> accepted_calls;
  Changed changed_by_plan;
  std::map<model::InstanceKey, model::InstanceRecord> before_plan;  // of those of them that were
  std::set<model::InstanceKey> refused_starts;  // by agents; looked at by each plan
  std::set<model::NodeId> holding_back;         // where starts wait for room
  std::set<model::NodeId> unheard;              // since the start: each may run anything
  std::set<model::NodeId> awaited;              // known, and not heard of since the start
  bool settled = false;
  std::optional<Time> started_at;

  Dirty dirty;
  std::set<std::pair<Time, model::NodeId>> node_alarms;
  std::set<std::pair<Time, model::InstanceKey>> instance_alarms;
  std::map<model::NodeId, Drain> drains;
  Networks networks;
  std::set<std::pair<Time, model::NodeId>> load_alarms;
  Alarms<model::NodeId> readiness_alarms;
  std::set<model::NodeId> overloaded;
  std::map<model::InstanceKey, InstanceAlerts> alerts;  // of those that are not quiet
  Alarms<model::InstanceKey> alert_alarms;
  std::uint64_t cluster_changes = 0;  // of anything that may make another plan possible
  Rebalancing rebalancing;
  std::map<RequestKey, Rollout> rollouts;
  std::set<RequestKey> partial_rollouts;         // asked for, and not begun yet
  std::set<RequestKey> asked_requests;           // by the calls that are not planned yet
  std::set<model::InstanceKey> asked_instances;  // by the same calls: those that they override
  std::set<model::InstanceKey> overridden;       // those of them that get other variables by that
  std::set<std::uint64_t> runs_with_rollouts;
  Countdowns countdowns;
  std::map<model::InstanceKey, Move> moves;
  Alarms<model::InstanceKey> move_alarms;
  std::map<model::InstanceKey, std::string> failed_moves;  // why; until the next plan
  std::map<model::InstanceKey, Avoided> avoided;
  // What did not come up elsewhere starts again where it was, and stays there until it has.
  std::map<model::InstanceKey, model::NodeId> returning;
  Alarms<model::InstanceKey> avoided_alarms;

  // Of the present step.
  Time now;
  Effects effects;

  void note(NoteKind kind, std::string about, std::string text) {
    effects.notes.push_back({kind, std::move(about), std::move(text)});
  }
  void note(NoteKind kind, const model::NodeId& node, std::string text) {
    note(kind, "node/" + node.value(), std::move(text));
  }
  void note(NoteKind kind, const model::InstanceKey& key, std::string text) {
    note(kind, "instance/" + model::to_string(key), std::move(text));
  }

  // Changes a record and marks all that depends on it.
  void put(const model::InstanceRecord& record);
  void erase(model::InstanceKey key);  // by value: it may be the key of what is erased
  void mark(const model::InstanceRecord& record);

  // Since 1970.
  Duration date_of(Time time) const {
    return std::max(time.time_since_epoch() + config.date_of_zero, Duration{});
  }

  ObservedNode* find_node(const model::NodeId& id);
  const ObservedNode* find_node(const model::NodeId& id) const;
};

}  // namespace berth::control
