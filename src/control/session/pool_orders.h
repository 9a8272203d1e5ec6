#pragma once

#include <deque>
#include <map>
#include <set>
#include <vector>

#include "base/alarms.h"
#include "control/step.h"
#include "model/pool.h"

namespace berth::control {

// What agents are told about pools, and have not acted on yet. Nothing of it waits for a disk. On
// each connection the numbers begin anew, after the first report: what was told before either had
// come by then, or is told again because the report does not show it.
class PoolOrders {
 public:
  // It has told all that it has, on this connection: from now on it can be told something.
  void begin(const model::NodeId& node, ConnectionId connection);
  void end(const model::NodeId& node) {
    nodes_.erase(node);
    overdue_.set(node, std::nullopt);
  }
  // Whether orders to it would be sent.
  bool can_be_told(const model::NodeId& node) const { return nodes_.contains(node); }

  // One that cannot be told says all that it has when it can again; it is told then.
  void tell(const model::NodeId& node, model::PoolOrder order);
  void acted(Time now, const model::NodeId& node, std::uint64_t number);
  // All that was told has come.
  bool is_in_step(const model::NodeId& node) const;

  // Sends what was told in this step, and again what should have come by now.
  void send(Step& step);
  Time next() const { return overdue_.next().value_or(kNever); }

 private:
  struct Told {
    ConnectionId connection = 0;
    std::vector<model::PoolOrder> orders;  // of this step
    std::deque<model::PoolCommand> in_flight;
    std::uint64_t last = 0;
    Time waiting_since;  // for the first one in flight
  };

  static void send_again(Step& step, const model::NodeId& node, Told& told);

  std::map<model::NodeId, Told> nodes_;
  std::set<model::NodeId> changed_;
  // When something in flight may have to be sent again: an early one only looks.
  Alarms<model::NodeId> overdue_;
};

}  // namespace berth::control
