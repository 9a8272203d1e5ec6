#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/indexed_map.h"
#include "control/network/names.h"
#include "model/instance.h"
#include "model/network.h"

namespace berth::control {

// An instance that is on a network, or may still be.
struct Member {
  model::InstanceNetwork at;
  std::set<model::NodeId> nodes;  // where it is, or may be
  std::vector<std::string> names;
  std::vector<model::Port> ports;
  std::vector<model::AllowedConnection> allowed_connections;

  friend bool operator==(const Member&, const Member&) = default;
};

// An owner's network over all nodes.
struct OwnerNetwork {
  std::map<model::Ipv4, model::InstanceKey> members;
  std::set<model::NodeId> nodes;
  std::uint64_t edition = 0;  // another one after each change that its nodes must hear of
};

// What a node has of networks.
struct NodeShare {
  std::set<model::InstanceKey> members;
  std::set<model::OwnerId> owners;  // whose networks it has, for its members or for their targets
  std::vector<model::AllowedFlow> flows;
  std::optional<model::Ipv4> address;  // where the others reach it
};

// What the records mean for networks. Nothing of it is durable: the room makes it from the
// records, and keeps it up to date by what is dirty, so that a change costs what it concerns.
struct Networks {
  bool built = false;

  // Who holds what. Holdings are the addresses of the records, with the network that each is of.
  IndexedMap<model::InstanceKey, model::InstanceNetwork> holdings;
  std::map<model::OwnerId, std::size_t> holders;  // how many of each network
  std::map<model::InstanceKey, std::vector<Name>> claimed;
  NameClaims claims;
  std::map<model::InstanceKey, model::Problem> nameless;  // lack a name that another item has
  std::set<model::InstanceKey> retiring;  // must stop, and then give their address back
  // Why instances cannot be on their network; they are tried again when something may help.
  std::map<model::InstanceKey, model::Problem> problems;
  // Where instances may run, beside the places that their records say.
  std::map<model::InstanceKey, std::set<model::NodeId>> elsewhere;
  bool all_heard = false;  // every node that was known at the start has told what it runs

  // Who is connected with whom.
  std::map<model::InstanceKey, Member> members;
  std::map<model::OwnerId, OwnerNetwork> owners;
  std::map<model::NodeId, NodeShare> nodes;
  std::map<model::ItemId, std::set<model::InstanceKey>> callers;  // who may connect to the item
  std::set<model::NodeId> lacking;  // have no address in a network that they should have
  // What instances ask for, and the other does not expose.
  std::map<model::InstanceKey, std::set<std::string>> refused_connections;
  std::uint64_t last_edition = 0;
};

}  // namespace berth::control
