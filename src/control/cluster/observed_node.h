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

// What an agent was told to run, as far as a change of it needs a new command.
struct Told {
  std::string version;
  std::uint64_t item_edition = 0;
  std::uint32_t image = 0;
  model::RuntimeId runtime;
  std::int64_t priority = 0;
  std::optional<model::InstanceNetwork> network;
  std::map<std::string, std::string> variables;  // that are overridden
  bool paused = false;
  bool prepare_only = false;

  friend bool operator==(const Told&, const Told&) = default;
};

// What an agent was told of networks, as far as a change of it needs a new command.
struct ToldNetwork {
  std::map<model::OwnerId, std::uint64_t> editions;  // of the networks that it has
  std::vector<model::AllowedFlow> flows;

  friend bool operator==(const ToldNetwork&, const ToldNetwork&) = default;
};

struct Order {
  Told what;
  model::CommandNumber number;  // of the command that carried it; set when that is sent
  bool begins_anew = false;     // it had been told to stop there, or only to prepare
};

// What we have heard of a node, and told it.
struct ObservedNode {
  // Reachability.
  Liveness liveness = Liveness::Unknown;
  std::optional<ConnectionId> connection;
  ConnectionId newest_connection = 0;
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
  bool was_refused = false;                       // a report on this connection was not credible
  model::NodeInfo info;
  std::optional<model::Usage> usage;
  model::Usage instance_usage;  // sum over `reported`
  model::NodeMeasurement measurement;
  IndexedMap<model::InstanceKey, model::ReportedStatus> reported;

  // Our commands.
  std::optional<model::CommandNumber> last_sent;
  Time behind_since;               // it has not acted on what was sent then, or it is not behind
  bool needs_full_command = true;  // what it was told is not known to be what it has
  IndexedMap<model::InstanceKey, Order> told;
  std::map<model::InstanceKey, model::CommandNumber> stopping;  // told to stop by this command
  std::map<model::InstanceKey, Told> revoked;                  // what these were told to run before
  std::map<model::InstanceKey, model::CommandNumber> erasing;  // the same for their data
  std::set<std::pair<model::CommandNumber, model::InstanceKey>> in_flight;  // not acted on yet
  ToldNetwork told_network;
  std::set<model::InstanceKey> held_back;                  // wait for room that others are leaving
  std::set<model::InstanceKey> not_told;                   // looked at while it could not be told
  std::map<model::InstanceKey, std::string> states_heard;  // their digests; not yet said to it

  // Active here, and not yet for long enough: when it will be, and a word of the node can prove it.
  Alarms<model::InstanceKey> proving;
  Time vouched_at = Time::min();  // of the last report that was understood

  NodeReadiness readiness;

  bool reachable() const { return liveness == Liveness::Reachable; }
  bool in_touch() const { return connection && reported_fully; }
  bool is_behind() const { return last_sent && acted < *last_sent; }
};

using Nodes = std::map<model::NodeId, ObservedNode>;

// Whether something of the instance may run on the node, as far as it has told us.
bool is_present(const Nodes& nodes, const model::NodeId& id, const model::InstanceKey& key);

// What is used on the node beside our instances; nothing while nothing is measured.
model::Usage system_usage_of(const ObservedNode& node);

}  // namespace berth::control
