#pragma once

#include <cstdint>
#include <optional>

#include "control/controller.h"
#include "model/manifest.h"
#include "placement/moment.h"

// The cluster as documents: what users asked for, and each node as a `Node` document with what runs
// there, so that an offline plan from them decides what the controller would.
namespace berth::controld {

// A copy of the cluster at one moment. Immutable; planned from by any thread.
struct Cluster {
  std::uint64_t revision = 0;
  model::Manifest documents;                   // Items, Deployments, NodeConfigs, Nodes
  placement::Moment moment;                    // what they cannot say
  std::optional<model::Manifest> before = {};  // if it was changed: how it is
};

Cluster copy_of(const control::Controller& controller);

// What is needed of the desired state to check further documents against it: items without their
// texts.
model::Manifest outline_of(const control::Durable& durable);

// The documents laid over those of the cluster: the same kind and name is replaced.
Cluster overlaid(Cluster cluster, model::Manifest documents);

// What the engine sees. Points into the cluster.
inline placement::Snapshot snapshot_of(const Cluster& cluster) {
  return placement::snapshot_of(cluster.documents, cluster.moment, cluster.before);
}

}  // namespace berth::controld
