#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/indexed_map.h"
#include "base/time.h"
#include "model/protocol.h"

namespace berth::control {

// What an agent is to run of one instance, as far as a change of it needs a new command.
struct Order {
  std::string version;
  std::uint64_t item_edition = 0;
  std::uint32_t image = 0;
  model::RuntimeId runtime;
  std::int64_t priority = 0;
  std::optional<model::InstanceNetwork> network;
  std::map<std::string, std::string> variables;  // that are overridden
  bool paused = false;
  bool prepare_only = false;

  friend bool operator==(const Order&, const Order&) = default;
};

// What an agent is to know of networks, as far as a change of it needs a new command.
struct NetworkOrder {
  std::map<model::OwnerId, std::uint64_t> editions;  // of the networks that it has
  std::vector<model::AllowedFlow> flows;

  friend bool operator==(const NetworkOrder&, const NetworkOrder&) = default;
};

struct GivenOrder {
  Order what;
  model::CommandNumber number;  // of the command that carried it; set when that is sent
  bool begins_anew = false;     // it had been told to stop there, or only to prepare
};

// All that an agent was told.
struct GivenOrders {
  std::optional<model::CommandNumber> last_sent;
  Time behind_since;               // it has not acted on what was sent then, or it is not behind
  bool needs_full_command = true;  // what it was told is not known to be what it has
  IndexedMap<model::InstanceKey, GivenOrder> run;
  std::map<model::InstanceKey, model::CommandNumber> stopping;  // told to stop by this command
  std::map<model::InstanceKey, Order> revoked;                  // what these were to run before
  std::map<model::InstanceKey, model::CommandNumber> erasing;   // the same for their data
  std::set<std::pair<model::CommandNumber, model::InstanceKey>> in_flight;  // not acted on yet
  NetworkOrder network;
  // Wait for room that others are leaving, or for their turn to be started anew.
  std::set<model::InstanceKey> postponed;
  std::set<model::InstanceKey> leaving;                    // may be there still, and shall not
  std::set<model::InstanceKey> missed;                     // looked at while it could not be told
  std::map<model::InstanceKey, std::string> states_heard;  // their digests; not yet said to it
};

// The same, for all to read and for the room of orders to change.
class NodeOrders {
 public:
  const GivenOrders* operator->() const { return &given_; }
  const GivenOrders& operator*() const { return given_; }

 private:
  friend class Orders;

  GivenOrders given_;
};

}  // namespace berth::control
