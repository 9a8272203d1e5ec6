#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "model/ids.h"
#include "model/network.h"
#include "network/links.h"

// How the things are called that an agent makes for its networks. Several agents may share a
// machine, also agents of different units with nodes of the same name: what is visible to all of
// them has the agent's tag in its name.
namespace berth::network {

// The tag that earlier releases have used, which kept none: eight hex digits.
std::string earlier_tag_of(const std::string& node, const std::filesystem::path& state_dir);

// Namespaces.
std::string router_namespace(const std::string& node, const std::string& tag);
std::string instance_namespace_prefix(const std::string& tag);
std::string instance_namespace(const std::string& tag, const model::InstanceKey& key);

// Devices of the machine, and of the router. At most 15 characters.
inline constexpr char kHostDevicePrefix[] = "bh";
std::string host_device(const std::string& tag);
inline constexpr char kUplinkDevice[] = "up";
inline constexpr char kBridgePrefix[] = "net";
inline constexpr char kTunnelPrefix[] = "tun";
std::string bridge_device(std::uint32_t vxlan);
std::string tunnel_device(std::uint32_t vxlan);
inline constexpr char kInstanceDevicePrefix[] = "i-";
std::string instance_device(const std::string& instance_namespace);

// The same wherever an instance runs: who knows it need not ask again when it has moved.
MacAddress mac_of_instance(model::Ipv4 address);
MacAddress mac_of_bridge(model::Ipv4 node_address);
std::string to_string(const MacAddress& mac);  // "02:be:0a:80:00:07"

// Where each agent looks first for a free pair of addresses, among `pairs`.
std::uint32_t first_pair(const std::string& tag, std::uint32_t pairs);

}  // namespace berth::network
