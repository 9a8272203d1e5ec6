#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "control/controller.h"
#include "model/manifest.h"
#include "placement/held.h"
#include "placement/plan.h"
#include "placement/snapshot.h"

// The cluster as documents: what users asked for, and each node as a `Node` document with what runs
// there, so that an offline plan from them decides what the controller would.
namespace berth::controld {

// A copy of the cluster at one moment. Immutable; planned from by any thread.
struct Cluster {
  std::uint64_t revision = 0;
  model::Manifest documents;  // Items, Deployments, NodeConfigs, Nodes
  // What documents cannot say: nodes that are silent but not lost, what lasts of their runtimes'
  // readiness, and which runtime a component that is asked for on `all` of them is for.
  std::set<model::NodeId> unreachable;
  std::map<model::NodeId, control::NodeReadiness> readiness;
  Duration date_of_zero{};  // of the times in it
  std::map<model::InstanceKey, model::Place> bound;
  placement::Held held;
  std::optional<model::Manifest> before = {};  // if it was changed: how it is
};

Cluster copy_of(const control::Controller& controller);

// What is needed of the desired state to check further documents against it: items without their
// texts.
model::Manifest outline_of(const control::Durable& durable);

// The documents laid over those of the cluster: the same kind and name is replaced.
Cluster overlaid(Cluster cluster, model::Manifest documents);

// What the engine sees. Points into the cluster.
placement::Snapshot snapshot_of(const Cluster& cluster);

}  // namespace berth::controld
