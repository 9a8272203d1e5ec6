#pragma once

#include <functional>
#include <map>
#include <set>

#include "agent/events.h"
#include "base/random.h"
#include "control/events.h"
#include "sim/faults.h"
#include "sim/stage.h"

namespace berth::sim {

enum class Cut { Both, ToController, ToAgent };

// The links between the controller and each node. Agents connect and reconnect by themselves. A
// connection can lose, delay, repeat and reorder what is on it, be cut in one direction or both,
// and break, which its two ends learn at different times. What was sent on an old connection may
// still reach the controller, under the old connection's id; it never reaches an agent. Of two
// machines with the identity of one node, each with a link of its own, the one that connects last
// replaces the other.
class Network {
 public:
  struct Ends {
    std::function<void(control::Event)> controller;
    std::function<void(const model::NodeId&, agent::Event)> agent;
  };

  Network(Stage& stage, Random random, Ends ends);

  void set_weather(const Weather& weather) { weather_ = weather; }
  void add_node(const model::NodeId& node);
  void add_clone(const model::NodeId& node, const model::NodeId& link);

  // Processes that come up, and that die with all their connections.
  void controller_started();
  void controller_died();
  void agent_started(const model::NodeId& node);
  void agent_died(const model::NodeId& node);

  void send(const control::Outgoing& outgoing);
  void send_pool(const control::PoolOutgoing& outgoing);
  void send(const model::NodeId& node, const model::Report& report);

  void cut(const model::NodeId& node, Cut direction);
  void mend(const model::NodeId& node);
  void reset(const model::NodeId& node);

  // Whether both ends hold the same connection and nothing cuts it.
  bool connected(const model::NodeId& node) const;
  // When the link last did anything but carry its messages in order.
  Time disturbed_at(const model::NodeId& node) const;

 private:
  struct Direction {
    bool cut = false;
    Time last_arrival{};
  };
  struct Link {
    Link(model::NodeId node, Random stream) : identity(std::move(node)), random(stream) {}
    model::NodeId identity;
    Random random;
    bool agent_up = false;
    std::uint64_t agent_end = 0;              // the connection that the agent holds; 0 = none
    std::set<std::uint64_t> controller_ends;  // those that the controller has not seen break
    Direction to_controller;
    Direction to_agent;
    Time disturbed{};
  };
  enum class Way { ToController, ToAgent };

  void try_connect(const model::NodeId& node);
  void connect_later(const model::NodeId& node);
  void replace_others(const model::NodeId& node);
  void send_to(const model::NodeId& identity, std::uint64_t connection, const agent::Event& event);
  const model::NodeId* holder_of(const model::NodeId& identity, std::uint64_t connection) const;
  void agent_sees_break(const model::NodeId& node, std::uint64_t connection);
  void controller_sees_break(const model::NodeId& node, std::uint64_t connection);
  void break_both_ends(const model::NodeId& node);
  void transfer(const model::NodeId& node, Way way, const Queue::Task& deliver);
  void carry(Link& link, Way way, Queue::Task deliver);
  Duration unseeded_delay() const;
  void disturb(Link& link) { link.disturbed = stage_.now(); }
  Link& link(const model::NodeId& node);
  static Direction& direction(Link& link, Way way);

  Stage& stage_;
  Random random_;
  Ends ends_;
  Weather weather_;
  std::map<model::NodeId, Link> links_;
  bool controller_up_ = false;
  std::uint64_t controller_life_ = 0;
  std::uint64_t last_connection_ = 0;
};

}  // namespace berth::sim
