#include "sim/network.h"

#include <algorithm>
#include <utility>

#include "sim/draw.h"

namespace berth::sim {

using model::NodeId;

Network::Network(Stage& stage, Random random, Ends ends)
    : stage_(stage), random_(random), ends_(std::move(ends)) {}

void Network::add_node(const NodeId& node) { links_.emplace(node, Link(node, random_.fork())); }

void Network::add_clone(const NodeId& node, const NodeId& link) {
  links_.emplace(link, Link(node, random_.fork()));
}

Network::Link& Network::link(const NodeId& node) { return links_.at(node); }

Network::Direction& Network::direction(Link& link, Way way) {
  return way == Way::ToController ? link.to_controller : link.to_agent;
}

void Network::controller_started() {
  controller_up_ = true;
  ++controller_life_;
}

void Network::controller_died() {
  controller_up_ = false;
  for (auto& [node, link] : links_) {
    link.controller_ends.clear();
    disturb(link);
    if (link.agent_end == 0) continue;
    stage_.queue.after(draw(link.random, 1ms, 3s),
                       [this, node = node, id = link.agent_end] { agent_sees_break(node, id); });
  }
}

void Network::agent_started(const NodeId& node) {
  link(node).agent_up = true;
  try_connect(node);
}

void Network::agent_died(const NodeId& node) {
  Link& link = this->link(node);
  link.agent_up = false;
  disturb(link);
  const std::uint64_t connection = std::exchange(link.agent_end, 0);
  if (connection == 0) return;
  stage_.queue.after(draw(link.random, 1ms, 6s),
                     [this, node, connection] { controller_sees_break(node, connection); });
}

void Network::try_connect(const NodeId& node) {
  Link& link = this->link(node);
  if (!link.agent_up || link.agent_end != 0) return;
  if (!controller_up_ || link.to_controller.cut || link.to_agent.cut) return connect_later(node);
  const std::uint64_t connection = ++last_connection_;
  ++stage_.counts.connections;
  link.agent_end = connection;
  link.controller_ends.insert(connection);
  disturb(link);
  replace_others(node);
  ends_.controller(control::NodeConnected{link.identity, connection});
  ends_.agent(node, agent::Connected{connection});
}

void Network::replace_others(const NodeId& node) {
  const NodeId& identity = link(node).identity;
  for (auto& [other, link] : links_) {
    if (other == node || link.identity != identity) continue;
    for (const std::uint64_t connection : std::set(link.controller_ends)) {
      controller_sees_break(other, connection);
    }
    if (link.agent_end == 0) continue;
    stage_.queue.after(draw(link.random, 1ms, 100ms),
                       [this, other = other, id = link.agent_end] { agent_sees_break(other, id); });
  }
}

void Network::connect_later(const NodeId& node) {
  stage_.queue.after(draw(link(node).random, 200ms, 2s), [this, node] { try_connect(node); });
}

void Network::agent_sees_break(const NodeId& node, std::uint64_t connection) {
  Link& link = this->link(node);
  if (link.agent_end != connection) return;
  link.agent_end = 0;
  disturb(link);
  ends_.agent(node, agent::Disconnected{connection});
  connect_later(node);
}

void Network::controller_sees_break(const NodeId& node, std::uint64_t connection) {
  Link& link = this->link(node);
  if (link.controller_ends.erase(connection) == 0) return;
  disturb(link);
  ends_.controller(control::NodeDisconnected{link.identity, connection});
}

void Network::break_both_ends(const NodeId& node) {
  Link& link = this->link(node);
  const std::uint64_t connection = link.agent_end;
  if (connection == 0) return;
  disturb(link);
  stage_.queue.after(draw(link.random, 1ms, 2s),
                     [this, node, connection] { agent_sees_break(node, connection); });
  stage_.queue.after(draw(link.random, 1ms, 8s),
                     [this, node, connection] { controller_sees_break(node, connection); });
}

void Network::cut(const NodeId& node, Cut cut) {
  Link& link = this->link(node);
  disturb(link);
  if (cut != Cut::ToAgent) link.to_controller.cut = true;
  if (cut != Cut::ToController) link.to_agent.cut = true;
  // Keep-alives find out that nothing comes through; a short cut they do not notice.
  stage_.queue.after(draw(link.random, 2s, 8s), [this, node, connection = link.agent_end] {
    Link& then = this->link(node);
    const bool still_cut = then.to_controller.cut || then.to_agent.cut;
    if (still_cut && then.agent_end == connection) break_both_ends(node);
  });
}

void Network::mend(const NodeId& node) {
  Link& link = this->link(node);
  if (link.to_controller.cut || link.to_agent.cut) disturb(link);
  link.to_controller.cut = false;
  link.to_agent.cut = false;
}

void Network::reset(const NodeId& node) { break_both_ends(node); }

const NodeId* Network::holder_of(const NodeId& identity, std::uint64_t connection) const {
  const auto own = links_.find(identity);
  if (own->second.agent_end == connection) return &own->first;
  for (const auto& [node, link] : links_) {
    if (link.identity == identity && link.agent_end == connection) return &node;
  }
  return nullptr;
}

void Network::send_to(const NodeId& identity, std::uint64_t connection, const agent::Event& event) {
  const NodeId* holder = holder_of(identity, connection);
  const NodeId node = holder == nullptr ? identity : *holder;
  transfer(node, Way::ToAgent, [this, node, connection, event, life = controller_life_] {
    if (link(node).agent_end != connection || life != controller_life_) return;
    ends_.agent(node, event);
  });
}

void Network::send(const control::Outgoing& outgoing) {
  send_to(outgoing.node, outgoing.connection, agent::CommandReceived{outgoing.command});
}

void Network::send_pool(const control::PoolOutgoing& outgoing) {
  send_to(outgoing.node, outgoing.connection, agent::PoolCommandReceived{outgoing.command});
}

void Network::send(const NodeId& node, const model::Report& report) {
  const std::uint64_t connection = link(node).agent_end;
  if (connection == 0) return;
  control::NodeReported event{link(node).identity, connection, report};
  transfer(node, Way::ToController, [this, event, life = controller_life_] {
    if (controller_up_ && life == controller_life_) ends_.controller(event);
  });
}

void Network::transfer(const NodeId& node, Way way, const Queue::Task& deliver) {
  Link& link = this->link(node);
  ++stage_.counts.sent;
  if (link.random.chance_ppm(weather_.loss)) {
    ++stage_.counts.lost;
    return disturb(link);
  }
  if (link.random.chance_ppm(weather_.duplicate)) {
    ++stage_.counts.duplicated;
    disturb(link);
    carry(link, way, deliver);
  }
  carry(link, way, deliver);
}

void Network::carry(Link& link, Way way, Queue::Task deliver) {
  Time arrival = stage_.now() + draw(link.random, 500us, 10ms);
  if (link.random.chance_ppm(weather_.delay)) {
    arrival += draw(link.random, 10ms, weather_.delay_max);
    disturb(link);
  }
  if (link.random.chance_ppm(weather_.reorder)) {
    ++stage_.counts.reordered;
    arrival += draw(link.random, 1ms, 3s);
    disturb(link);
  } else {
    Time& last = direction(link, way).last_arrival;
    arrival = std::max(arrival, last);
    last = arrival;
  }
  arrival += unseeded_delay();
  stage_.queue.at(arrival, [this, &link, way, deliver = std::move(deliver)] {
    if (!direction(link, way).cut) return deliver();
    ++stage_.counts.lost;
    disturb(link);
  });
}

Duration Network::unseeded_delay() const {
  static std::int64_t messages_of_all_worlds = 0;
  if (stage_.sabotage != Sabotage::UnseededDelay) return {};
  return Duration(++messages_of_all_worlds % 1000);
}

bool Network::connected(const NodeId& node) const {
  const Link& link = links_.at(node);
  return controller_up_ && link.agent_end != 0 && link.controller_ends.contains(link.agent_end) &&
         !link.to_controller.cut && !link.to_agent.cut;
}

Time Network::disturbed_at(const NodeId& node) const { return links_.at(node).disturbed; }

}  // namespace berth::sim
