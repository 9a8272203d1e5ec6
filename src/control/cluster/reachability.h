#pragma once

#include <optional>
#include <set>

#include "base/alarms.h"
#include "control/cluster/observed_node.h"
#include "control/step.h"

namespace berth::control {

struct Context;

// The room of who is heard of: the reachability of nodes by the clocks, and the settling after a
// start. Before it has settled nothing is decided: the known agents get a chance to say what they
// run.
class Reachability {
 public:
  // At a start: every known node has been heard of just now, the clocks start again.
  void restore(const Step& step, Nodes& nodes);
  // Something was heard of the node, or its stream has broken.
  void look_at(const model::NodeId& node) { marked_.insert(node); }
  // Its first full report since the start, or on a new connection.
  void has_reported(const model::NodeId& node);
  // A full report in which none of its runtimes was left out.
  void has_told_all(const model::NodeId& node) { untold_.erase(node); }

  void decide(Context& context);
  // Of the clocks alone: settling is not waited for while the controller is held.
  Time next_change() const { return alarms_.next().value_or(kNever); }
  Time next(const Step& step) const;
  void forget(const model::NodeId& node);

  bool has_started() const { return started_at_.has_value(); }
  bool settled() const { return settled_; }
  // Whether every node that was known at the start has told what it runs: else it may run anything.
  bool all_heard() const { return untold_.empty(); }

 private:
  void update(Context& context, const model::NodeId& id, ObservedNode& node);
  void settle(Context& context);

  std::set<model::NodeId> marked_;
  Alarms<model::NodeId> alarms_;
  std::set<model::NodeId> unheard_;  // since the start
  std::set<model::NodeId> untold_;   // these too, and those that know not all of what they run
  bool settled_ = false;
  std::optional<Time> started_at_;
};

}  // namespace berth::control
