#include "control/network/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "control/network/address_pool.h"
#include "control/network/holders.h"
#include "control/network/network_need.h"

namespace berth::control {
namespace {

using model::AllowedConnection;
using model::AllowedFlow;

template <class Map, class Key, class Value>
void erase_from(Map& sets, const Key& key, const Value& value) {
  const auto found = sets.find(key);
  if (found == sets.end()) return;
  found->second.erase(value);
  if (found->second.empty()) sets.erase(found);
}

std::string to_text(const AllowedConnection& connection) {
  return fmt::format("{}/{}/{}", connection.item.value(), connection.port.number,
                     model::to_string(connection.port.protocol));
}

// What runs on for a while is found by nobody.
bool has_to_stop(const Member& member) { return member.names.empty(); }

bool exposes(const Member& member, const model::Port& port) {
  return std::ranges::find(member.ports, port) != member.ports.end();
}

auto order_of(const AllowedFlow& flow) {
  return std::tuple(flow.from, flow.to, flow.port.number, flow.port.protocol);
}

bool comes_before(const AllowedFlow& a, const AllowedFlow& b) { return order_of(a) < order_of(b); }

// What the node reports of the instance is what it was told, and that needs no network.
bool runs_without_network(const ObservedNode& node, const model::InstanceKey& key) {
  const auto told = node.orders->run.find(key);
  const auto reported = node.reported.find(key);
  if (told == node.orders->run.end() || reported == node.reported.end()) return false;
  const Order& what = told->second.what;
  return !what.network && reported->second.version == what.version &&
         reported->second.runtime == what.runtime;
}

class Topology {
 public:
  Topology(Context& context, Networks& networks, const std::set<model::NodeId>& nodes,
           const std::set<model::InstanceKey>& keys)
      : context_(context), networks_(networks), nodes_(nodes), keys_(keys) {}

  void update() {
    for (const model::InstanceKey& key : keys_) update_member(key);
    touched_.insert(nodes_.begin(), nodes_.end());
    touched_.insert(networks_.lacking.begin(), networks_.lacking.end());
    for (const model::NodeId& node : touched_) update_node(node);
    for (const model::OwnerId& owner : changed_) tell_nodes_of(owner);
    for (const model::NodeId& node : told_) context_.orders.look_at(node);
  }

 private:
  // --- Members.

  void update_member(const model::InstanceKey& key) {
    std::optional<Member> member = member_of(key);
    const auto known = networks_.members.find(key);
    const bool is_known = known != networks_.members.end();
    if (is_known == member.has_value() && (!is_known || known->second == *member)) return;
    if (is_known) remove(key, Member(known->second));
    if (member) add(key, *std::move(member));
    if (!member) networks_.refused_connections.erase(key);
  }

  std::optional<Member> member_of(const model::InstanceKey& key) const {
    const auto holding = networks_.holdings.find(key);
    if (holding == networks_.holdings.end()) return std::nullopt;
    Member member{.at = holding->second, .nodes = nodes_of(key)};
    if (member.nodes.empty()) return std::nullopt;
    if (const model::Item* item = shown_item(key)) {
      for (const Name& name : networks_.claimed.at(key)) member.names.push_back(name.text);
      member.ports = item->ports;
      member.allowed_connections = item->allowed_connections;
    }
    return member;
  }

  // One that has to stop is not connected with anybody any more.
  const model::Item* shown_item(const model::InstanceKey& key) const {
    const auto* record = context_.state.find<model::InstanceRecord>(key);
    if (record == nullptr || networks_.retiring.contains(key)) return nullptr;
    return networked_item(context_, *record);
  }

  std::set<model::NodeId> nodes_of(const model::InstanceKey& key) const {
    std::set<model::NodeId> nodes;
    const auto add = [&](const model::NodeId& node) {
      const ObservedNode* observed = context_.find_node(node);
      if (observed != nullptr && observed->info.address) nodes.insert(node);
    };
    const auto add_if_present = [&](const model::NodeId& node) {
      if (is_present(context_.nodes, node, key)) add(node);
    };
    const auto add_if_joined = [&](const model::NodeId& node) {
      const ObservedNode* observed = context_.find_node(node);
      if (observed != nullptr && !runs_without_network(*observed, key)) add_if_present(node);
    };
    if (const auto* record = context_.state.find<model::InstanceRecord>(key)) {
      if (record->place) {
        const bool can_start = shown_item(key) != nullptr && !networks_.problems.contains(key);
        can_start ? add(record->place->node) : add_if_joined(record->place->node);
      }
      if (record->leaving) add(record->leaving->place.node);
    }
    const auto others = networks_.elsewhere.find(key);
    if (others != networks_.elsewhere.end()) std::ranges::for_each(others->second, add_if_present);
    return nodes;
  }

  void add(const model::InstanceKey& key, Member member) {
    networks_.owners[member.at.owner].members.emplace(member.at.address, key);
    for (const model::NodeId& node : member.nodes) networks_.nodes[node].members.insert(key);
    for (const AllowedConnection& connection : member.allowed_connections) {
      networks_.callers[connection.item].insert(key);
    }
    touch(key, networks_.members.insert_or_assign(key, std::move(member)).first->second);
  }

  void remove(const model::InstanceKey& key, const Member& member) {
    touch(key, member);
    networks_.owners.at(member.at.owner).members.erase(member.at.address);
    for (const model::NodeId& node : member.nodes) networks_.nodes.at(node).members.erase(key);
    for (const AllowedConnection& connection : member.allowed_connections) {
      erase_from(networks_.callers, connection.item, key);
    }
    networks_.members.erase(key);
  }

  // Its own nodes, those of all who may connect to it, and all that have its network.
  void touch(const model::InstanceKey& key, const Member& member) {
    touched_.insert(member.nodes.begin(), member.nodes.end());
    changed_.insert(member.at.owner);
    const auto callers = networks_.callers.find(key.item);
    if (callers == networks_.callers.end()) return;
    for (const model::InstanceKey& caller : callers->second) {
      const auto& nodes = networks_.members.at(caller).nodes;
      touched_.insert(nodes.begin(), nodes.end());
    }
  }

  void tell_nodes_of(const model::OwnerId& owner) {
    OwnerNetwork& network = networks_.owners[owner];
    network.edition = ++networks_.last_edition;
    told_.insert(network.nodes.begin(), network.nodes.end());
    if (network.nodes.empty() && network.members.empty()) networks_.owners.erase(owner);
  }

  // --- Nodes.

  void update_node(const model::NodeId& id) {
    NodeShare& share = networks_.nodes[id];
    const ObservedNode* node = context_.find_node(id);
    const auto address = node == nullptr ? std::nullopt : node->info.address;
    NodeShare fresh{.members = share.members, .owners = {}, .flows = {}, .address = address};
    networks_.lacking.erase(id);
    if (address) fill(id, fresh);
    move_between_networks(id, share, fresh);
    if (share.flows != fresh.flows) told_.insert(id);
    share = std::move(fresh);
    if (share.members.empty() && share.owners.empty()) networks_.nodes.erase(id);
  }

  void fill(const model::NodeId& id, NodeShare& share) {
    for (const model::InstanceKey& key : share.members) {
      reach(id, networks_.members.at(key).at.owner, share);
    }
    for (const model::InstanceKey& key : share.members) connect(id, key, share);
    std::ranges::sort(share.flows, comes_before);
    const auto repeated = std::ranges::unique(share.flows);
    share.flows.erase(repeated.begin(), repeated.end());
  }

  // Whether the node can have the owner's network.
  bool reach(const model::NodeId& id, const model::OwnerId& owner, NodeShare& share) {
    if (share.owners.contains(owner)) return true;
    if (!node_address_for(context_.state, owner, id)) {
      networks_.lacking.insert(id);
      return false;
    }
    share.owners.insert(owner);
    return true;
  }

  void connect(const model::NodeId& id, const model::InstanceKey& key, NodeShare& share) {
    const Member& from = networks_.members.at(key);
    std::set<std::string> refused;
    for (const AllowedConnection& connection : from.allowed_connections) {
      auto to = networks_.members.lower_bound({connection.item, model::SubjectId{}, 0});
      for (; to != networks_.members.end() && to->first.item == connection.item; ++to) {
        const bool needs_no_rule = to->second.at.owner == from.at.owner;
        if (needs_no_rule || has_to_stop(to->second)) continue;
        if (!exposes(to->second, connection.port)) {
          refused.insert(to_text(connection));
        } else if (reach(id, to->second.at.owner, share)) {
          share.flows.push_back({from.at.address, to->second.at.address, connection.port});
        }
      }
    }
    remember_refused(key, refused);
  }

  void remember_refused(const model::InstanceKey& key, const std::set<std::string>& refused) {
    auto& known = networks_.refused_connections[key];
    for (const std::string& connection : refused) {
      if (known.contains(connection)) continue;
      context_.note(NoteKind::ConnectionNotAllowed, key,
                    fmt::format("{}: that port is not exposed", connection));
    }
    known = refused;
    if (known.empty()) networks_.refused_connections.erase(key);
  }

  void move_between_networks(const model::NodeId& id, const NodeShare& before,
                             const NodeShare& after) {
    const bool same_address = before.address == after.address;
    for (const model::OwnerId& owner : before.owners) {
      if (after.owners.contains(owner) && same_address) continue;
      changed_.insert(owner);
      networks_.owners.at(owner).nodes.erase(id);
      told_.insert(id);
    }
    for (const model::OwnerId& owner : after.owners) {
      if (!networks_.owners[owner].nodes.insert(id).second) continue;
      changed_.insert(owner);
    }
  }

  Context& context_;
  Networks& networks_;
  const std::set<model::NodeId>& nodes_;  // that were marked
  const std::set<model::InstanceKey>& keys_;
  std::set<model::NodeId> touched_;   // whose share may change
  std::set<model::OwnerId> changed_;  // whose network is not as it was
  std::set<model::NodeId> told_;      // who must hear of that
};

model::ProviderNetwork provider_network(const Durable& durable, const Networks& networks,
                                        const model::OwnerId& owner, const model::NodeId& node) {
  const model::NetworkRecord& record = durable.networks.at(owner);
  model::ProviderNetwork network{.owner = owner,
                                 .vxlan = record.vxlan,
                                 .subnet = record.subnet,
                                 .node_address = durable.node_addresses.at({owner, node}).address,
                                 .peers = {}};
  for (const model::NodeId& other : networks.owners.at(owner).nodes) {
    if (other != node) network.peers.push_back(*networks.nodes.at(other).address);
  }
  std::ranges::sort(network.peers);
  return network;
}

const NodeShare* find_share(const Networks& networks, const model::NodeId& node) {
  const auto found = networks.nodes.find(node);
  return found == networks.nodes.end() ? nullptr : &found->second;
}

}  // namespace

void update_topology(Context& context, Networks& networks, const std::set<model::NodeId>& nodes,
                     const std::set<model::InstanceKey>& keys) {
  Topology(context, networks, nodes, keys).update();
}

NetworkOrder present_network(const Networks& networks, const model::NodeId& node) {
  NetworkOrder present;
  const NodeShare* share = find_share(networks, node);
  if (share == nullptr) return present;
  for (const model::OwnerId& owner : share->owners) {
    present.editions.emplace(owner, networks.owners.at(owner).edition);
  }
  present.flows = share->flows;
  return present;
}

model::NodeNetwork network_of(const Durable& durable, const Networks& networks,
                              const model::NodeId& node) {
  model::NodeNetwork network;
  const NodeShare* share = find_share(networks, node);
  if (share == nullptr) return network;
  for (const model::OwnerId& owner : share->owners) {
    network.networks.push_back(provider_network(durable, networks, owner, node));
    for (const auto& [address, key] : networks.owners.at(owner).members) {
      const auto& names = networks.members.at(key).names;
      if (!has_to_stop(networks.members.at(key))) network.names.push_back({address, names});
    }
  }
  network.flows = share->flows;
  return network;
}

}  // namespace berth::control
