#include "network/links.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace berth::network {
namespace {

constexpr std::uint16_t kNew = NLM_F_CREATE | NLM_F_EXCL;
constexpr std::uint32_t kAgeingSeconds = 60;  // of what a tunnel has learnt: instances move
constexpr MacAddress kEverybody{};

std::string_view as_bytes(const MacAddress& mac) {
  return {reinterpret_cast<const char*>(mac.data()), mac.size()};
}

std::uint32_t on_the_wire(model::Ipv4 address) { return htonl(address.value); }

model::Ipv4 off_the_wire(std::uint32_t value) { return model::Ipv4{ntohl(value)}; }

ifinfomsg link_header(int index = 0) { return {.ifi_family = AF_UNSPEC, .ifi_index = index}; }

ifinfomsg as_up(ifinfomsg header) {
  header.ifi_flags = IFF_UP;
  header.ifi_change = IFF_UP;
  return header;
}

Link link_of(const Listed& listed) {
  const auto header = listed.header<ifinfomsg>().value_or(ifinfomsg{});
  const Attributes attributes = listed.attributes<ifinfomsg>();
  const Attributes info = attributes.nested(IFLA_LINKINFO);
  Link link{.index = header.ifi_index,
            .name = attributes.text(IFLA_IFNAME),
            .kind = info.text(IFLA_INFO_KIND),
            .alias = attributes.text(IFLA_IFALIAS),
            .is_up = (header.ifi_flags & IFF_UP) != 0,
            .mtu = attributes.number<std::uint32_t>(IFLA_MTU).value_or(0),
            .master = attributes.number<std::int32_t>(IFLA_MASTER).value_or(0),
            .tunnel_end = {},
            .counters = {}};
  if (link.kind == "vxlan") {
    const auto local = info.nested(IFLA_INFO_DATA).number<std::uint32_t>(IFLA_VXLAN_LOCAL);
    if (local) link.tunnel_end = off_the_wire(*local);
  }
  if (const auto stats = attributes.find(IFLA_STATS64);
      stats && stats->size() >= 4 * sizeof(std::uint64_t)) {
    std::uint64_t first[4];  // packets received, sent, bytes received, sent
    std::memcpy(first, stats->data(), sizeof first);
    link.counters = {.received = first[2], .sent = first[3]};
  }
  return link;
}

ndmsg neighbour_header(int link) {
  ndmsg header{};
  header.ndm_family = AF_BRIDGE;
  header.ndm_ifindex = link;
  header.ndm_state = NUD_PERMANENT | NUD_NOARP;
  header.ndm_flags = NTF_SELF;
  return header;
}

Message peer_message(std::uint16_t type, std::uint16_t flags, int vxlan, model::Ipv4 peer) {
  Message message(type, flags, neighbour_header(vxlan));
  message.bytes(NDA_LLADDR, as_bytes(kEverybody)).number(NDA_DST, on_the_wire(peer));
  return message;
}

Message address_message(std::uint16_t type, std::uint16_t flags, const LinkAddress& address) {
  ifaddrmsg header{};
  header.ifa_family = AF_INET;
  header.ifa_prefixlen = address.prefix;
  header.ifa_index = static_cast<std::uint32_t>(address.link);
  Message message(type, flags, header);
  message.number(IFA_LOCAL, on_the_wire(address.address));
  message.number(IFA_ADDRESS, on_the_wire(address.address));
  return message;
}

bool contains(const std::vector<model::Ipv4>& list, model::Ipv4 address) {
  return std::find(list.begin(), list.end(), address) != list.end();
}

// What is not there any more need not be taken away.
Result<void> unless_gone(Result<void> removed) {
  if (!removed && removed.error().code == Code::NotFound) return {};
  return removed;
}

}  // namespace

Result<Links> Links::open(const NetworkNamespace& network_namespace) {
  Netlink netlink = TRY(network_namespace.run([] { return Netlink::open(NETLINK_ROUTE); }));
  return Links(std::move(netlink));
}

Result<std::vector<Link>> Links::all() {
  std::vector<Link> links;
  for (const Listed& one : TRY(netlink_.list({RTM_GETLINK, 0, link_header()}))) {
    links.push_back(link_of(one));
  }
  return links;
}

Result<std::optional<Link>> Links::find(const std::string& name) {
  for (Link& link : TRY(all())) {
    if (link.name == name) return std::optional(std::move(link));
  }
  return std::optional<Link>();
}

Result<std::vector<LinkAddress>> Links::addresses() {
  ifaddrmsg header{};
  header.ifa_family = AF_INET;
  std::vector<LinkAddress> found;
  for (const Listed& one : TRY(netlink_.list({RTM_GETADDR, 0, header}))) {
    const auto about = one.header<ifaddrmsg>();
    const auto local = one.attributes<ifaddrmsg>().number<std::uint32_t>(IFA_LOCAL);
    if (!about || !local) continue;
    found.push_back(
        {static_cast<int>(about->ifa_index), off_the_wire(*local), about->ifa_prefixlen});
  }
  return found;
}

Result<void> Links::make(const BridgeSpec& bridge) {
  Message message(RTM_NEWLINK, kNew, as_up(link_header()));
  message.text(IFLA_IFNAME, bridge.name).number(IFLA_MTU, bridge.mtu);
  message.bytes(IFLA_ADDRESS, as_bytes(bridge.mac));
  const std::size_t info = message.begin(IFLA_LINKINFO);
  message.text(IFLA_INFO_KIND, "bridge");
  message.end(info);
  return netlink_.tell(message);
}

// It learns where an instance is from what comes from there; what it does not know goes to all
// peers.
Result<void> Links::make(const VxlanSpec& vxlan) {
  Message message(RTM_NEWLINK, kNew, as_up(link_header()));
  message.text(IFLA_IFNAME, vxlan.name).number(IFLA_MTU, vxlan.mtu);
  message.number(IFLA_MASTER, vxlan.master);
  const std::size_t info = message.begin(IFLA_LINKINFO);
  message.text(IFLA_INFO_KIND, "vxlan");
  const std::size_t data = message.begin(IFLA_INFO_DATA);
  message.number(IFLA_VXLAN_ID, vxlan.id);
  message.number(IFLA_VXLAN_LOCAL, on_the_wire(vxlan.local));
  message.number(IFLA_VXLAN_PORT, htons(kTunnelPort));
  message.number(IFLA_VXLAN_LEARNING, std::uint8_t{1});
  message.number(IFLA_VXLAN_AGEING, kAgeingSeconds);
  message.end(data);
  message.end(info);
  return netlink_.tell(message);
}

Result<void> Links::make(const VethSpec& veth) {
  Message message(RTM_NEWLINK, kNew, as_up(link_header()));
  message.text(IFLA_IFNAME, veth.name).number(IFLA_MTU, veth.mtu);
  if (veth.master != 0) message.number(IFLA_MASTER, veth.master);
  const std::size_t info = message.begin(IFLA_LINKINFO);
  message.text(IFLA_INFO_KIND, "veth");
  const std::size_t data = message.begin(IFLA_INFO_DATA);
  const std::size_t peer = message.begin(VETH_INFO_PEER);
  message.plain(link_header());
  message.text(IFLA_IFNAME, veth.peer_name).number(IFLA_MTU, veth.mtu);
  if (veth.peer_mac) message.bytes(IFLA_ADDRESS, as_bytes(*veth.peer_mac));
  message.number(IFLA_NET_NS_FD, veth.peer_namespace);
  message.end(peer);
  message.end(data);
  message.end(info);
  TRY(netlink_.tell(message));
  const auto made = TRY(find(veth.name));
  if (!made) return not_found(veth.name + " is gone again");
  return set_alias(made->index, veth.alias);
}

Result<void> Links::remove(const std::string& name) {
  Message message(RTM_DELLINK, 0, link_header());
  message.text(IFLA_IFNAME, name);
  return unless_gone(netlink_.tell(message));
}

Result<void> Links::set_up(int link) {
  return netlink_.tell({RTM_NEWLINK, 0, as_up(link_header(link))});
}

Result<void> Links::set_master(int link, int master) {
  Message message(RTM_NEWLINK, 0, link_header(link));
  message.number(IFLA_MASTER, master);
  return netlink_.tell(message);
}

Result<void> Links::set_mtu(int link, std::uint32_t mtu) {
  Message message(RTM_NEWLINK, 0, link_header(link));
  message.number(IFLA_MTU, mtu);
  return netlink_.tell(message);
}

Result<void> Links::set_alias(int link, const std::string& alias) {
  Message message(RTM_NEWLINK, 0, link_header(link));
  message.bytes(IFLA_IFALIAS, alias.substr(0, IFALIASZ - 1));
  return netlink_.tell(message);
}

Result<void> Links::ensure_address(int link, model::Ipv4 address, std::uint8_t prefix) {
  bool is_there = false;
  for (const LinkAddress& one : TRY(addresses())) {
    if (one.link != link) continue;
    if (one.address == address && one.prefix == prefix) {
      is_there = true;
    } else {
      TRY(unless_gone(netlink_.tell(address_message(RTM_DELADDR, 0, one))));
    }
  }
  if (is_there) return {};
  return netlink_.tell(address_message(RTM_NEWADDR, kNew, {link, address, prefix}));
}

Result<void> Links::ensure_default_route(model::Ipv4 gateway) {
  rtmsg header{};
  header.rtm_family = AF_INET;
  header.rtm_table = RT_TABLE_MAIN;
  header.rtm_protocol = RTPROT_STATIC;
  header.rtm_scope = RT_SCOPE_UNIVERSE;
  header.rtm_type = RTN_UNICAST;
  Message message(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, header);
  message.number(RTA_GATEWAY, on_the_wire(gateway));
  return netlink_.tell(message);
}

Result<std::vector<model::Ipv4>> Links::peers_of(int vxlan) {
  ndmsg header{};
  header.ndm_family = AF_BRIDGE;
  std::vector<model::Ipv4> peers;
  for (const Listed& one : TRY(netlink_.list({RTM_GETNEIGH, 0, header}))) {
    const auto about = one.header<ndmsg>();
    const Attributes attributes = one.attributes<ndmsg>();
    const auto to = attributes.number<std::uint32_t>(NDA_DST);
    const bool is_ours = about && about->ndm_ifindex == vxlan && to &&
                         attributes.find(NDA_LLADDR) == as_bytes(kEverybody);
    if (is_ours) peers.push_back(off_the_wire(*to));
  }
  return peers;
}

Result<void> Links::ensure_peers(int vxlan, const std::vector<model::Ipv4>& peers) {
  const auto there = TRY(peers_of(vxlan));
  for (const model::Ipv4 peer : peers) {
    if (contains(there, peer)) continue;
    TRY(netlink_.tell(peer_message(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_APPEND, vxlan, peer)));
  }
  for (const model::Ipv4 peer : there) {
    if (contains(peers, peer)) continue;
    TRY(unless_gone(netlink_.tell(peer_message(RTM_DELNEIGH, 0, vxlan, peer))));
  }
  return {};
}

}  // namespace berth::network
