#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "model/manifest.h"
#include "placement/known_failures.h"
#include "placement/snapshot.h"

// A cluster that is planned from afar, by those who have its documents: the planner of the API, the
// command line. What the controller sees and documents cannot say goes with them as a moment, so
// that all see the same.
namespace berth::placement {

// Of one node. Documents take all states as lasting: a node is connected or lost, drained or not.
struct NodeMoment {
  model::NodeId id;
  Reachability reachability = Reachability::Connected;
  bool cordoned = false;
  Drain drain = Drain::No;
  bool ready = false;
  std::optional<model::RuntimeId> primary = {};
  std::map<model::RuntimeId, Duration> not_ready_since = {};
  std::set<model::RuntimeId> evicting = {};
  Overload overloaded = {};
  model::Usage system_usage = {};

  friend bool operator==(const NodeMoment&, const NodeMoment&) = default;
};

NodeMoment moment_of(const SnapshotNode& node);

// Of one instance of an application's pool: no document asks for it.
struct PoolMoment {
  model::InstanceKey key;
  model::ItemKey item;
  std::int64_t priority = 0;
  std::vector<std::string> labels = {};
  std::vector<model::NodeId> nodes = {};
  bool bound = false;
  bool displaces = false;

  friend bool operator==(const PoolMoment&, const PoolMoment&) = default;
};

PoolMoment moment_of(const PoolAsk& ask);

struct Moment {
  std::vector<NodeMoment> nodes;  // those that it knows better than their documents
  std::map<model::InstanceKey, Home> homes;
  std::map<model::InstanceKey, model::Place> bound;
  std::set<model::InstanceKey> returning;
  std::set<model::InstanceKey> untold;
  KnownFailures failures;
  std::vector<PoolMoment> pools = {};
};

// The documents say something else of the node.
void forget(Moment& moment, const model::NodeId& node);

// The cluster at that moment, and what in it is outdated if its documents were others before.
// Points into both.
Snapshot snapshot_of(const model::Manifest& documents, const Moment& moment,
                     const std::optional<model::Manifest>& before);

}  // namespace berth::placement
