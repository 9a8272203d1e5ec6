#include "network/firewall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::network {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

model::Ipv4 ip(const char* text) { return *model::parse_ipv4(text); }

model::NodeNetwork two_networks() {
  model::NodeNetwork network;
  network.networks = {{.owner = model::OwnerId("acme"),
                       .vxlan = 7,
                       .subnet = *model::parse_subnet("10.1.0.0/20"),
                       .node_address = ip("10.1.0.1"),
                       .peers = {ip("192.0.2.2")}},
                      {.owner = model::OwnerId("other"),
                       .vxlan = 8,
                       .subnet = *model::parse_subnet("10.2.0.0/20"),
                       .node_address = ip("10.2.0.1"),
                       .peers = {}}};
  return network;
}

model::AllowedFlow flow(const char* from, const char* to, std::uint16_t port) {
  return {.from = ip(from), .to = ip(to), .port = {.number = port}};
}

TEST(RouterRules, AnAllowedFlowIsOneElement) {
  model::NodeNetwork network = two_networks();
  network.flows = {flow("10.1.0.5", "10.2.0.6", 1883)};
  const std::string rules = router_rules(network, ip("198.18.0.1"), std::nullopt);
  EXPECT_THAT(rules, HasSubstr("flush set inet berth flows\n"));
  EXPECT_THAT(rules,
              HasSubstr("add element inet berth flows { 10.1.0.5 . 10.2.0.6 . tcp . 1883 }\n"));
}

TEST(RouterRules, WhatStaysGoesOnCounting) {
  model::NodeNetwork before = two_networks();
  before.flows = {flow("10.1.0.5", "10.2.0.6", 1), flow("10.1.0.5", "10.2.0.6", 2)};
  model::NodeNetwork after = two_networks();
  after.flows = {flow("10.1.0.5", "10.2.0.6", 2), flow("10.1.0.5", "10.2.0.6", 3)};
  const std::string rules = router_rules(after, ip("198.18.0.1"), before);
  EXPECT_THAT(rules, Not(HasSubstr("flush set inet berth flows")));
  EXPECT_THAT(rules,
              HasSubstr("delete element inet berth flows { 10.1.0.5 . 10.2.0.6 . tcp . 1 }"));
  EXPECT_THAT(rules, HasSubstr("add element inet berth flows { 10.1.0.5 . 10.2.0.6 . tcp . 3 }"));
  EXPECT_THAT(rules, Not(HasSubstr("tcp . 2 ")));
}

TEST(RouterRules, TunnelsTakeOnlyWhatPeersSend) {
  const std::string rules = router_rules(two_networks(), ip("198.18.0.1"), std::nullopt);
  EXPECT_THAT(rules, HasSubstr("add element inet berth peers { 192.0.2.2 }\n"));
  EXPECT_THAT(rules, HasSubstr("iifname \"up\" udp dport 4789 ip saddr @peers accept"));
}

TEST(RouterRules, WhatComesFromAnotherNetworkHasTheNodesAddress) {
  const std::string rules = router_rules(two_networks(), ip("198.18.0.1"), std::nullopt);
  EXPECT_THAT(rules, HasSubstr("postrouting oifname \"net8\" ip saddr != 10.2.0.0/20 masquerade"));
}

TEST(HostRules, TunnelsHaveTheAddressThatOtherNodesKnow) {
  const std::string rules = host_rules({.tag = "0123abcd",
                                        .device = "bh0123abcd",
                                        .link_address = ip("198.18.0.1"),
                                        .node_address = ip("192.0.2.1")});
  EXPECT_THAT(rules,
              HasSubstr("ip daddr 192.0.2.1 udp dport 4789 ip daddr set 198.18.0.1 notrack"));
  EXPECT_THAT(rules, HasSubstr("ip saddr 198.18.0.1 udp dport 4789 ip saddr set 192.0.2.1"));
}

TEST(HostRules, ARouterWhoseAddressIsKnownIsLeftAsItIs) {
  const std::string rules = host_rules({.tag = "0123abcd",
                                        .device = "bh0123abcd",
                                        .link_address = ip("198.18.0.1"),
                                        .node_address = ip("198.18.0.1")});
  EXPECT_THAT(rules, Not(HasSubstr(" set 198")));
}

}  // namespace
}  // namespace berth::network
