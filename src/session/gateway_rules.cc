#include "session/gateway_rules.h"

#include <fmt/format.h>

#include "network/names.h"
#include "session/poke.h"

namespace berth::session {
namespace {

constexpr char kSets[] = R"(add table ip {0}
add map ip {0} targets {{ type ipv4_addr . inet_proto . inet_service : ipv4_addr . inet_service; }}
add map ip {0} any_targets {{ type inet_proto . inet_service : ipv4_addr . inet_service; }}
add set ip {0} refused {{ type ipv4_addr . inet_proto . inet_service; }}
add set ip {0} any_refused {{ type inet_proto . inet_service; }}
add set ip {0} live {{ type inet_proto . inet_service . ipv4_addr . inet_service; counter; }}
add set ip {0} sent {{ type inet_proto . inet_service . ipv4_addr . inet_service; counter; }}
add set ip {0} cut {{ type inet_proto . inet_service . ipv4_addr . inet_service; }}
)";

// Made or emptied: the rules that follow are all that they have.
constexpr char kChains[] =
    R"(add chain ip {0} arriving {{ type nat hook prerouting priority -100; policy accept; }}
add chain ip {0} local {{ type nat hook output priority -100; policy accept; }}
add chain ip {0} leaving {{ type nat hook postrouting priority 100; policy accept; }}
add chain ip {0} input {{ type filter hook input priority 0; policy accept; }}
add chain ip {0} forward {{ type filter hook forward priority 0; policy accept; }}
add chain ip {0} output {{ type filter hook output priority 0; policy accept; }}
add chain ip {0} poking {{ type filter hook output priority -300; policy accept; }}
add chain ip {0} cutting
flush chain ip {0} poking
flush chain ip {0} arriving
flush chain ip {0} local
flush chain ip {0} leaving
flush chain ip {0} input
flush chain ip {0} forward
flush chain ip {0} output
flush chain ip {0} cutting
)";

// Whoever comes, from elsewhere or from the machine itself, is led to the target. What is left of a
// connection that is forgotten is not: it does not begin with a SYN.
constexpr char kLeading[] =
    R"(add rule ip {0} {1} tcp flags & (fin | syn | rst | ack) != syn return
add rule ip {0} {1} dnat ip to ip daddr . meta l4proto . th dport map @targets
add rule ip {0} {1} fib daddr type local dnat ip to meta l4proto . th dport map @any_targets
)";

constexpr char kRefusing[] =
    R"(add rule ip {0} input meta l4proto tcp ip daddr . meta l4proto . th dport @refused reject with tcp reset
add rule ip {0} input meta l4proto tcp meta l4proto . th dport @any_refused reject with tcp reset
add rule ip {0} input ip daddr . meta l4proto . th dport @refused reject with icmp type port-unreachable
add rule ip {0} input meta l4proto . th dport @any_refused reject with icmp type port-unreachable
)";

// What leaves the machine on its way to the target has an address of the machine, so that answers
// come back to it. Connections over the loopback pass two of the chains: each direction is counted
// in one of them.
constexpr char kConnections[] =
    R"(add rule ip {0} leaving oifname != "lo" ct status dnat meta l4proto {1} {2} @live masquerade
add rule ip {0} cutting meta l4proto {1} {2} @cut reject with {3}
add rule ip {0} input ct status dnat ct direction original meta l4proto {1} {2} @live
add rule ip {0} forward ct status dnat ct direction original meta l4proto {1} {2} @live
add rule ip {0} forward ct status dnat ct direction reply meta l4proto {1} {2} @sent
add rule ip {0} output ct status dnat ct direction reply meta l4proto {1} {2} @sent
)";
constexpr char kWhose[] =
    "meta l4proto . ct original proto-dst . ct reply ip saddr . ct reply proto-src";

// See session/poke.h.
constexpr char kPoking[] = "add rule ip {} poking meta mark {} notrack\n";

// What tells a peer that it is cut must not be cut itself.
constexpr char kCutting[] = R"(add rule ip {0} cutting ct status & dnat == 0 return
add rule ip {0} cutting tcp flags & rst == rst return
)";

// Who is at the other end of a connection that is gone learns it when it speaks.
constexpr char kInner[] = R"(add table ip {0}
add map ip {0} any_targets {{ type inet_proto . inet_service : ipv4_addr . inet_service; }}
add chain ip {0} arriving {{ type nat hook prerouting priority -100; policy accept; }}
add chain ip {0} input {{ type filter hook input priority -10; policy accept; }}
add chain ip {0} poking {{ type filter hook output priority -300; policy accept; }}
flush chain ip {0} poking
flush chain ip {0} arriving
flush chain ip {0} input
add rule ip {0} arriving iifname "{up}" fib daddr type local dnat ip to meta l4proto . th dport map @any_targets
add rule ip {0} input iifname "{net}*" ct state new,invalid tcp flags & (syn | rst) == 0x0 reject with tcp reset
)";

constexpr char kLoopback[] = R"(add table ip berth-loopback
add chain ip berth-loopback arriving { type filter hook prerouting priority -300; policy accept; }
add chain ip berth-loopback leaving { type filter hook output priority 10; policy accept; }
flush chain ip berth-loopback arriving
flush chain ip berth-loopback leaving
add rule ip berth-loopback arriving iifname != "lo" ip daddr 127.0.0.0/8 drop
add rule ip berth-loopback arriving iifname != "lo" ip saddr 127.0.0.0/8 drop
add rule ip berth-loopback leaving oifname != "lo" ip saddr 127.0.0.0/8 ct status & dnat == 0 tcp flags & rst == 0x0 reject with tcp reset
add rule ip berth-loopback leaving oifname != "lo" ip saddr 127.0.0.0/8 ct status & dnat == 0 drop
)";

}  // namespace

std::string gateway_rules(const std::string& table) {
  std::string rules = fmt::format(kSets, table) + fmt::format(kChains, table);
  for (const char* chain : {"arriving", "local"}) rules += fmt::format(kLeading, table, chain);
  rules += fmt::format(kPoking, table, Poker::kMark);
  rules += fmt::format(kCutting, table);
  for (const char* chain : {"input", "forward", "output"}) {
    rules += fmt::format("add rule ip {} {} jump cutting\n", table, chain);
  }
  rules += fmt::format(kConnections, table, "tcp", kWhose, "tcp reset");
  rules += fmt::format(kConnections, table, "udp", kWhose, "icmp type port-unreachable");
  return rules + fmt::format(kRefusing, table);
}

std::string inner_gateway_rules(const std::string& table) {
  return fmt::format(kInner, table, fmt::arg("up", network::kUplinkDevice),
                     fmt::arg("net", network::kBridgePrefix)) +
         fmt::format(kPoking, table, Poker::kMark);
}

std::string no_gateway_rules(const std::string& table) {
  return fmt::format("add table ip {0}\ndelete table ip {0}\n", table);
}

std::string loopback_rules() { return kLoopback; }

}  // namespace berth::session
