#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/network.h"
#include "network/links.h"
#include "network/network_namespace.h"

// How a router is joined to its machine: by one pair of devices with an address each. Agents on one
// machine look at what the others have made; a lock of the machine lets one at a time do so.
namespace berth::network {

struct UplinkSpec {
  std::string tag;
  model::Subnet range;  // pairs of addresses are taken from it
  std::uint32_t mtu = 1500;
};

// The router's address. Finds the pair that is there, or makes one.
Result<model::Ipv4> ensure_uplink(Links& host, Links& router, const NetworkNamespace& inside,
                                  const UplinkSpec& spec);

// Makes this address of the machine that of this agent's tunnels; false: another agent has it.
Result<bool> claim_address(Links& host, const std::string& tag, model::Ipv4 address);

// The address that this machine uses toward another one; nullopt: there is no way there, or only
// the loopback.
std::optional<model::Ipv4> address_toward(const std::string& host);

// The size of packets that the device with this address takes.
Result<std::uint32_t> mtu_at(Links& host, std::optional<model::Ipv4> address);

}  // namespace berth::network
