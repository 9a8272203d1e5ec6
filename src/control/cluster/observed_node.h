#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/alarms.h"
#include "base/indexed_map.h"
#include "base/time.h"
#include "control/cluster/readiness.h"
#include "control/events.h"
#include "control/order.h"
#include "model/node.h"
#include "model/protocol.h"

namespace berth::control {

enum class Liveness {
  Unknown,      // since the start of the controller it has said nothing yet
  Reachable,    // connected, and has reported fully
  Unreachable,  // silent: gets nothing new, keeps what it has
  Lost,         // silent for so long that what may move is placed elsewhere
};

std::string_view to_string(Liveness liveness);

// What we have heard of a node, and told it.
struct ObservedNode {
  // Reachability.
  Liveness liveness = Liveness::Unknown;
  std::optional<ConnectionId> connection;
  ConnectionId newest_connection = 0;
  std::string address;  // that it has last connected from
  Time last_heard;
  bool has_spoken = false;  // there was a report since the last connection that counted as a word
  Time out_of_touch_since;  // the last break of a stream on which it had reported

  // Its reports. Valid from the first full one of a connection.
  bool reported_fully = false;
  bool ever_reported = false;  // since the start of the controller
  std::string boot_id;
  std::uint64_t revision = 0;
  model::CommandNumber acted;
  std::optional<Time> asked_for_full;
  bool in_doubt = false;                          // of what it was told: see agent/doubt.h
  std::optional<model::Receipt> receipt;          // that it has shown on this connection
  std::optional<model::ToldOrders> orders_shown;  // while the controller is held
  std::optional<ConnectionId> asked_for_orders;   // there
  std::vector<model::RuntimeId> untold_runtimes;  // it does not know what they run
  bool was_refused = false;                       // a report on this connection was not credible
  model::NodeInfo info;
  std::optional<model::Usage> usage;
  model::Usage instance_usage;  // sum over `reported`
  model::Usage pool_usage;      // of pool instances together
  model::NodeMeasurement measurement;
  IndexedMap<model::InstanceKey, model::ReportedStatus> reported;

  NodeOrders orders;  // what it was told

  NodeReadiness readiness;

  bool reachable() const { return liveness == Liveness::Reachable; }
  bool in_touch() const { return connection && reported_fully; }
  bool is_behind() const { return orders->last_sent && acted < *orders->last_sent; }
};

// Its agent does not know what runs there: what we knew of may be there still.
bool is_untold(const ObservedNode& node, const model::RuntimeId& runtime);

using Nodes = std::map<model::NodeId, ObservedNode>;

// What is used on the node beside our instances; nothing while nothing is measured.
model::Usage system_usage_of(const ObservedNode& node);

}  // namespace berth::control
