#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.h"
#include "model/item.h"

// The networks of service instances: one per owner over all nodes, one address per instance.
namespace berth::model {

struct Ipv4 {
  std::uint32_t value = 0;  // 10.0.0.1 is 0x0a000001

  friend bool operator==(const Ipv4&, const Ipv4&) = default;
  friend auto operator<=>(const Ipv4&, const Ipv4&) = default;
};

// "10.0.0.1"; nothing else is accepted: no leading zeros, no missing parts.
std::string to_string(Ipv4 address);
std::optional<Ipv4> parse_ipv4(std::string_view text);

// "10.0.0.0/16"; `base` has no bits beyond the prefix.
struct Subnet {
  Ipv4 base;
  std::uint8_t prefix = 0;

  friend bool operator==(const Subnet&, const Subnet&) = default;
};

std::string to_string(const Subnet& subnet);
std::optional<Subnet> parse_subnet(std::string_view text);
bool contains(const Subnet& subnet, Ipv4 address);

// What an instance has of its owner's network.
struct InstanceNetwork {
  OwnerId owner;
  Ipv4 address;

  friend bool operator==(const InstanceNetwork&, const InstanceNetwork&) = default;
};

// An owner's network as one node has it.
struct ProviderNetwork {
  OwnerId owner;
  std::uint32_t vxlan = 0;  // id of the tunnel that joins the nodes
  Subnet subnet;
  Ipv4 node_address;        // the node's own: gateway and name server of its instances
  std::vector<Ipv4> peers;  // where the other nodes that have this network can be reached

  friend bool operator==(const ProviderNetwork&, const ProviderNetwork&) = default;
};

// What the name server says of an address.
struct NamedAddress {
  Ipv4 address;
  std::vector<std::string> names;

  friend bool operator==(const NamedAddress&, const NamedAddress&) = default;
};

// A connection between two networks that an item's `allowedConnections` asks for.
struct AllowedFlow {
  Ipv4 from;
  Ipv4 to;
  Port port;

  friend bool operator==(const AllowedFlow&, const AllowedFlow&) = default;
};

// All that a node must know of networks, the whole truth: what it does not list is taken down.
struct NodeNetwork {
  std::vector<ProviderNetwork> networks;
  std::vector<NamedAddress> names;
  std::vector<AllowedFlow> flows;

  friend bool operator==(const NodeNetwork&, const NodeNetwork&) = default;
};

}  // namespace berth::model
