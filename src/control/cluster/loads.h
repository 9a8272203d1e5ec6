#pragma once

#include <map>
#include <set>

#include "base/alarms.h"
#include "control/cluster/load.h"
#include "control/cluster/observed_node.h"
#include "control/step.h"

namespace berth::control {

// The room of how much nodes are used: it compares that with their thresholds, and says who is
// overloaded.
class Loads {
 public:
  // It was measured, or can be reached or not, since it was looked at last.
  void look_at(const model::NodeId& node) { marked_.insert(node); }
  // What the operator says of it may be something else: its thresholds are looked up again.
  void look_up(const model::NodeId& node);
  void look_up_all(const Nodes& nodes);
  // What was done about its overload.
  void attempted(const model::NodeId& node, const Attempt& attempt);

  void decide(Step& step, const Nodes& nodes);
  Time next() const { return alarms_.next().value_or(kNever); }
  void forget(const model::NodeId& node);

  const NodeLoad& of(const model::NodeId& node) const;
  const std::set<model::NodeId>& overloaded() const { return overloaded_; }

  // When the next attempt to relieve the node is due, if the cluster has changed so often and does
  // not until then. Never, while nobody knows how much it is used.
  Time next_attempt(const Step& step, const model::NodeId& id, const ObservedNode& node,
                    std::uint64_t cluster_changes) const;

 private:
  void compare(Step& step, const model::NodeId& id, const ObservedNode& node);

  std::map<model::NodeId, NodeLoad> loads_;
  std::set<model::NodeId> marked_;
  std::set<model::NodeId> overloaded_;
  Alarms<model::NodeId> alarms_;
};

}  // namespace berth::control
