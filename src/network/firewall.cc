#include "network/firewall.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "network/links.h"
#include "network/names.h"
#include "runtime/supervision/command.h"

namespace berth::network {
namespace {

constexpr Duration kPatience = 30s;

// Its chains, empty; sets and counters stay as they are.
constexpr char kRouterTable[] = R"(add table inet berth
add set inet berth flows {{ type ipv4_addr . ipv4_addr . inet_proto . inet_service; counter; }}
add set inet berth peers {{ type ipv4_addr; }}
add counter inet berth refused-between-networks
add counter inet berth refused-at-node
add chain inet berth forward {{ type filter hook forward priority 0; policy drop; }}
add chain inet berth input {{ type filter hook input priority 0; policy drop; }}
add chain inet berth postrouting {{ type nat hook postrouting priority 100; policy accept; }}
flush chain inet berth forward
flush chain inet berth input
flush chain inet berth postrouting
flush set inet berth peers
)";

constexpr char kForward[] = R"(add rule inet berth forward ct state related accept
add rule inet berth forward ct direction reply ct state established accept
add rule inet berth forward iifname "{net}*" oifname "{up}" accept
add rule inet berth forward iifname "{up}" oifname "{net}*" ct status dnat accept
add rule inet berth forward iifname "{net}*" oifname "{net}*" ip saddr . ip daddr . meta l4proto . th dport @flows accept
)";

// A bridge may be told to show its packets to the firewall; they stay in their network.
constexpr char kOneNetwork[] = R"(add rule inet berth forward iifname "{0}" oifname "{0}" accept
add rule inet berth postrouting oifname "{0}" ip saddr != {1} masquerade
)";

constexpr char kRest[] =
    R"(add rule inet berth forward counter name refused-between-networks reject with icmpx type admin-prohibited
add rule inet berth input iifname "lo" accept
add rule inet berth input iifname "{up}" udp dport {port} ip saddr @peers accept
add rule inet berth input ct state established,related accept
add rule inet berth input iifname "{net}*" meta l4proto {{ tcp, udp }} th dport 53 accept
add rule inet berth input icmp type echo-request accept
add rule inet berth input iifname "{net}*" counter name refused-at-node reject with icmpx type admin-prohibited
add rule inet berth input counter name refused-at-node drop
add rule inet berth postrouting oifname "{up}" ip saddr != {link} masquerade
)";

constexpr char kHostTable[] = R"(add table ip {table}
delete table ip {table}
add table ip {table}
add chain ip {table} forward {{ type filter hook forward priority 0; policy accept; }}
add rule ip {table} forward oifname "{device}" ct state established,related accept
add rule ip {table} forward oifname "{device}" ip daddr {link} udp dport {port} accept
add rule ip {table} forward oifname "{device}" ip daddr {link} ct status dnat accept
add rule ip {table} forward oifname "{device}" counter drop
add chain ip {table} postrouting {{ type nat hook postrouting priority 100; policy accept; }}
add rule ip {table} postrouting ip saddr {link} udp dport {port} accept
add rule ip {table} postrouting ip saddr {link} masquerade
)";

// Without connection tracking: a tunnel has no beginning, and must not depend on who sent first.
constexpr char kTunnelAddress[] =
    R"(add chain ip {table} arriving {{ type filter hook prerouting priority -300; policy accept; }}
add rule ip {table} arriving ip daddr {node} udp dport {port} ip daddr set {link} notrack
add rule ip {table} arriving iifname "{device}" ip saddr {link} udp dport {port} notrack
add chain ip {table} leaving {{ type filter hook postrouting priority 300; policy accept; }}
add rule ip {table} leaving ip saddr {link} udp dport {port} ip saddr set {node}
)";

using Elements = std::set<std::string>;

Elements flows_of(const model::NodeNetwork& network) {
  Elements elements;
  for (const model::AllowedFlow& flow : network.flows) {
    elements.insert(fmt::format("{} . {} . {} . {}", to_string(flow.from), to_string(flow.to),
                                model::to_string(flow.port.protocol), flow.port.number));
  }
  return elements;
}

Elements peers_of(const model::NodeNetwork& network) {
  Elements elements;
  for (const model::ProviderNetwork& one : network.networks) {
    for (const model::Ipv4 peer : one.peers) elements.insert(to_string(peer));
  }
  return elements;
}

std::string change(std::string_view verb, std::string_view set, const Elements& elements) {
  if (elements.empty()) return "";
  return fmt::format("{} element inet berth {} {{ {} }}\n", verb, set, fmt::join(elements, ", "));
}

Elements without(const Elements& all, const Elements& some) {
  Elements rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(),
                      std::inserter(rest, rest.end()));
  return rest;
}

std::string flow_changes(const model::NodeNetwork& network,
                         const std::optional<model::NodeNetwork>& before) {
  const Elements wanted = flows_of(network);
  if (!before) return "flush set inet berth flows\n" + change("add", "flows", wanted);
  const Elements there = flows_of(*before);
  return change("delete", "flows", without(there, wanted)) +
         change("add", "flows", without(wanted, there));
}

std::string table_of(const std::string& tag) { return "berth-" + tag; }

}  // namespace

std::string router_rules(const model::NodeNetwork& network, model::Ipv4 link_address,
                         const std::optional<model::NodeNetwork>& before) {
  std::string rules = fmt::format(kRouterTable);
  rules += flow_changes(network, before);
  rules += change("add", "peers", peers_of(network));
  rules += fmt::format(kForward, fmt::arg("net", kBridgePrefix), fmt::arg("up", kUplinkDevice));
  for (const model::ProviderNetwork& one : network.networks) {
    rules += fmt::format(kOneNetwork, bridge_device(one.vxlan), to_string(one.subnet));
  }
  rules += fmt::format(kRest, fmt::arg("net", kBridgePrefix), fmt::arg("up", kUplinkDevice),
                       fmt::arg("port", kTunnelPort), fmt::arg("link", to_string(link_address)));
  return rules;
}

std::string host_rules(const HostRules& rules) {
  const auto fill = [&](const char* text) {
    return fmt::format(
        fmt::runtime(text), fmt::arg("table", table_of(rules.tag)),
        fmt::arg("device", rules.device), fmt::arg("link", to_string(rules.link_address)),
        fmt::arg("node", to_string(rules.node_address)), fmt::arg("port", kTunnelPort));
  };
  const bool has_other_address = rules.node_address != rules.link_address;
  return fill(kHostTable) + (has_other_address ? fill(kTunnelAddress) : "");
}

std::string no_host_rules(const std::string& tag) {
  return fmt::format("add table ip {0}\ndelete table ip {0}\n", table_of(tag));
}

Result<void> apply_rules(const NetworkNamespace& where, const std::string& rules) {
  const auto done = TRY(where.run([&] {
    return runtime::run_command({runtime::find_program("nft"), "-f", "-"}, kPatience, rules);
  }));
  if (done.code == 0) return {};
  return Error{Code::Unavailable, "nft: " + done.output.substr(0, done.output.find('\n'))};
}

}  // namespace berth::network
