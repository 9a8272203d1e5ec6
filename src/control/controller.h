#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "control/context.h"
#include "control/hold/rebuild.h"
#include "placement/snapshot.h"

namespace berth::control {

// The deterministic core of the control plane: owns the cluster's state. Facts are recorded, then
// the rooms decide in their fixed order. Not thread-safe, does no I/O, reads no clock.
class Controller {
 public:
  Controller(Config config, Durable restored);

  // The shell must make `writes` durable before it does anything else with the effects.
  Effects step(Time now, std::span<const Event> batch, Pace pace = Pace::GoOn);

  const Durable& durable() const { return context_.state.durable(); }
  bool settled() const { return context_.reachability.settled(); }
  // Why nothing is decided; see control/hold/hold.h. nullopt: it is not held.
  std::optional<std::string> held() const;
  // What `Release::Adopt` would ask for again, as far as the agents have said.
  std::vector<RebuiltRequest> rebuilt_requests() const {
    return control::rebuilt_requests(context_.nodes);
  }
  const std::map<model::NodeId, ObservedNode>& nodes() const { return context_.nodes; }
  // That are placed there, leave it, or are erased from it.
  const std::set<model::InstanceKey>& instances_on(const model::NodeId& node) const {
    return context_.state.instances_on(node);
  }
  // Against the thresholds of the node.
  const NodeLoad& load_of(const model::NodeId& node) const { return context_.loads.of(node); }
  // Of the instances that use much, or have until now.
  const std::map<model::InstanceKey, InstanceAlerts>& alerts() const {
    return context_.alerts.all();
  }
  // Whether moves of a rebalance are on their way, or one that was called for waits for its turn.
  bool is_rebalancing() const { return context_.rebalances.is_under_way(); }
  const std::set<ListenerId>& listeners() const { return context_.calls.listeners(); }

  // The status of every instance that is asked for, ordered by key.
  std::map<model::InstanceKey, model::InstanceStatus> statuses() const {
    return context_.statuses.all(context_);
  }

  // nullopt: nobody asks for it.
  std::optional<model::InstanceStatus> status_of(const model::InstanceKey& key) const {
    return context_.statuses.status_of(context_, key);
  }
  // Of one request, ordered by index.
  std::vector<model::InstanceStatus> statuses_of(const RequestKey& request) const {
    return context_.statuses.all_of(context_, request);
  }

  // Under which the instance is found by others; none if it is on no network.
  std::vector<std::string> names_of(const model::InstanceKey& key) const;
  // How it came to its place, or did not; nullptr if nothing was ever decided about it.
  const model::DecisionRecord* decision_about(const model::InstanceKey& key) const {
    return context_.state.find<model::DecisionRecord>(key);
  }

  const SessionRoom& sessions() const { return context_.sessions; }
  std::vector<model::SessionStatus> session_statuses(const SessionRoom::Choice& choice = {}) const {
    return context_.sessions.statuses(context_, choice);
  }
  std::optional<model::SessionStatus> status_of(const model::SessionKey& key) const {
    return context_.sessions.status_of(context_, key);
  }

  // What it places from. Points into the controller: good until the next step.
  placement::Snapshot snapshot() const;

  // Since 1970.
  Duration date_of(Time time) const { return context_.date_of(time); }

  // What is left of all times that run out, to be made durable before the shell stops. No step may
  // follow.
  std::vector<Write> last_writes(Time now);

  // Until a cached instance is deleted.
  Duration time_left(const model::InstanceKey& key) const;

 private:
  void start();
  void take(const Event& event);
  void decide();
  void plan();
  void look_on();
  void write_down_times();
  void mark_edited_items();
  void mark_everything();
  Time next_look() const;
  std::optional<Time> next_wake() const;

  Context context_;
};

}  // namespace berth::control
