#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "control/cluster/observed_node.h"
#include "control/order.h"

namespace berth::control {

struct Context;

// The room of orders: what agents were told to run, what waits for room there, and the commands
// that tell them what has changed.
class Orders {
 public:
  // --- What was heard of a node.

  // It has not what it was told: only a full command can set that right.
  static void forget_given(ObservedNode& node);
  // Whether it has acted on what it was told last.
  static bool is_in_step(const ObservedNode& node, const model::CommandNumber& acted);
  // It has acted on all up to `node.acted`: about which instances that was.
  static std::vector<model::InstanceKey> take_acted(ObservedNode& node);
  // What was told to stop, or to be erased, is acknowledged and no longer listed, has really gone.
  // Whether that is so.
  static bool confirm_stop(ObservedNode& node, const model::InstanceKey& key);
  static bool confirm_erased(ObservedNode& node, const model::InstanceKey& key);
  // What should run, was told so, and is not there although the node has acted on it, is told
  // again.
  static std::vector<model::InstanceKey> forget_missing(ObservedNode& node);
  // The node will be told that this was looked at.
  void state_heard(const model::NodeId& id, ObservedNode& node, const model::SavedState& state);

  // --- What must be looked at.

  // It may need a command, though nothing of its instances changed.
  void look_at(const model::NodeId& node) { marked_.insert(node); }
  // Where something waits for room there may be some.
  void look_at_postponed() { marked_.insert(postponing_.begin(), postponing_.end()); }
  // It shall report fully.
  void ask_fully(const model::NodeId& node) { to_report_.insert(node); }
  bool is_asked_fully(const model::NodeId& node) const { return to_report_.contains(node); }
  // It has not acted for long on what was sent.
  void send_again_if_overdue(const Context& context, const model::NodeId& id,
                             const ObservedNode& node);

  // Commands to agents whose orders changed. Ends the durable part of the step.
  void decide(Context& context);
  // Nothing is told: when that ends, everything is looked at.
  void look_on();
  void forget(const model::NodeId& node);

 private:
  struct Draft;

  std::map<model::NodeId, std::set<model::InstanceKey>> changed_keys(const Context& context) const;
  std::vector<Draft> draft_commands(Context& context);
  Draft draft_command(Context& context, const model::NodeId& id, ObservedNode& node,
                      const std::set<model::InstanceKey>& keys);
  static void send(Context& context, const Draft& draft);
  void ask_for_full_reports(Context& context) const;

  std::set<model::NodeId> marked_;
  std::set<model::NodeId> to_report_;
  std::set<model::NodeId> overdue_;
  std::set<model::NodeId> postponing_;  // where something waits for room
};

// Whether something of the instance may run on the node, as far as we have told it, and it us.
bool is_present(const Nodes& nodes, const model::NodeId& id, const model::InstanceKey& key);

}  // namespace berth::control
