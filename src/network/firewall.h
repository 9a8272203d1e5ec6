#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "model/network.h"
#include "network/network_namespace.h"

// What may pass between networks, as nftables rules. Each text is one transaction: all of it holds
// from one packet to the next, or nothing of it.
namespace berth::network {

inline constexpr char kRouterTableName[] = "berth";  // of family inet

// The rules of a router. Packets from one network into another pass only as an allowed flow, or in
// answer to one; they carry the node's address in the target network, so that answers come back to
// the node that let them out. An open connection whose flow is no longer allowed is cut. Counters
// go on counting while a flow stays; `before` is what the rules were made of the last time.
std::string router_rules(const model::NodeNetwork& network, model::Ipv4 link_address,
                         const std::optional<model::NodeNetwork>& before);

// The rules of the machine for one router: what it sends to the world looks like the machine's own,
// and its tunnels have the address that other nodes know, if that is not the router's.
struct HostRules {
  std::string tag;
  std::string device;        // to the router
  model::Ipv4 link_address;  // of the router
  model::Ipv4 node_address;  // that other nodes know
};
std::string host_rules(const HostRules& rules);
std::string no_host_rules(const std::string& tag);

// Runs nft inside of the namespace. The message says what is wrong with the rules, or the machine.
Result<void> apply_rules(const NetworkNamespace& where, const std::string& rules);

}  // namespace berth::network
