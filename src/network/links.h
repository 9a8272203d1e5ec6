#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/network.h"
#include "network/netlink.h"
#include "network/network_namespace.h"

namespace berth::network {

using MacAddress = std::array<std::uint8_t, 6>;

// Since the device was made.
struct Counters {
  std::uint64_t received = 0;  // bytes
  std::uint64_t sent = 0;

  friend bool operator==(const Counters&, const Counters&) = default;
};

struct Link {
  int index = 0;
  std::string name;
  std::string kind;   // "bridge", "vxlan", "veth"
  std::string alias;  // a text for people, and for us after a restart
  bool is_up = false;
  std::uint32_t mtu = 0;
  int master = 0;                         // the bridge that it belongs to
  std::optional<model::Ipv4> tunnel_end;  // our end, of a vxlan
  Counters counters;
};

struct LinkAddress {
  int link = 0;
  model::Ipv4 address;
  std::uint8_t prefix = 0;
};

struct BridgeSpec {
  std::string name;
  std::uint32_t mtu = 1500;
  MacAddress mac{};
};

struct VxlanSpec {
  std::string name;
  std::uint32_t mtu = 1500;
  std::uint32_t id = 0;
  model::Ipv4 local;
  int master = 0;
};

// Two ends; the peer is made in another namespace.
struct VethSpec {
  std::string name;
  std::string alias;
  std::uint32_t mtu = 1500;
  int master = 0;
  std::string peer_name;
  std::optional<MacAddress> peer_mac = {};
  int peer_namespace = -1;
};

inline constexpr std::uint16_t kTunnelPort = 4789;

// The devices of one network namespace. What must be there says `ensure`, and leaves alone what is.
// Not thread-safe.
class Links {
 public:
  static Result<Links> open(const NetworkNamespace& network_namespace);

  Result<std::vector<Link>> all();
  Result<std::optional<Link>> find(const std::string& name);
  Result<std::vector<LinkAddress>> addresses();

  Result<void> make(const BridgeSpec& bridge);
  Result<void> make(const VxlanSpec& vxlan);
  Result<void> make(const VethSpec& veth);
  Result<void> remove(const std::string& name);  // well if there is none
  Result<void> set_up(int link);
  Result<void> set_master(int link, int master);
  Result<void> set_mtu(int link, std::uint32_t mtu);
  Result<void> set_alias(int link, const std::string& alias);

  // The only address of the link.
  Result<void> ensure_address(int link, model::Ipv4 address, std::uint8_t prefix);
  Result<void> ensure_default_route(model::Ipv4 gateway);
  // Where a tunnel sends what it knows no single end for.
  Result<void> ensure_peers(int vxlan, const std::vector<model::Ipv4>& peers);

 private:
  explicit Links(Netlink netlink) : netlink_(std::move(netlink)) {}

  Result<std::vector<model::Ipv4>> peers_of(int vxlan);

  Netlink netlink_;
};

}  // namespace berth::network
