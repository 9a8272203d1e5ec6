#include "control/network/address_pool.h"

#include <gtest/gtest.h>

namespace berth::control {
namespace {

const model::OwnerId kAcme{"acme"};
const model::OwnerId kBeta{"beta"};
const model::NodeId kNode{"n1"};

// Two networks of two addresses.
Config a_small_config() {
  Config config;
  config.networks = *model::parse_subnet("10.0.0.0/29");
  config.network_prefix = 30;
  return config;
}

TEST(AddressPool, GivesEachOwnerANetworkOfItsOwn) {
  State state({});
  EXPECT_EQ(to_string(network_for(state, kAcme, a_small_config())->subnet), "10.0.0.0/30");
  EXPECT_EQ(to_string(network_for(state, kBeta, a_small_config())->subnet), "10.0.0.4/30");
  EXPECT_NE(state.durable().networks.at(kAcme).vxlan, state.durable().networks.at(kBeta).vxlan);
  EXPECT_EQ(to_string(network_for(state, kAcme, a_small_config())->subnet), "10.0.0.0/30");
  EXPECT_EQ(network_for(state, model::OwnerId{"gamma"}, a_small_config()), nullptr);
}

TEST(AddressPool, TakesASubnetThatHasBecomeFree) {
  State state({});
  network_for(state, kAcme, a_small_config());
  network_for(state, kBeta, a_small_config());
  erase_network(state, kAcme);
  EXPECT_EQ(to_string(network_for(state, model::OwnerId{"gamma"}, a_small_config())->subnet),
            "10.0.0.0/30");
}

TEST(AddressPool, AvoidsNetworksOfAnotherSize) {
  State state({});
  network_for(state, kAcme, a_small_config());
  Config larger = a_small_config();
  larger.networks = *model::parse_subnet("10.0.0.0/28");
  larger.network_prefix = 29;
  const auto* network = network_for(state, kBeta, larger);
  ASSERT_NE(network, nullptr);
  EXPECT_EQ(to_string(network->subnet), "10.0.0.8/29");
}

TEST(AddressPool, LeavesOutTheFirstAndTheLastAddress) {
  State state({});
  network_for(state, kAcme, a_small_config());
  EXPECT_EQ(to_string(*take_address(state, kAcme)), "10.0.0.1");
  EXPECT_EQ(to_string(*take_address(state, kAcme)), "10.0.0.2");
  EXPECT_EQ(take_address(state, kAcme), std::nullopt);
}

TEST(AddressPool, TakesTheLongestFreeFirst) {
  State state({});
  network_for(state, kAcme, a_small_config());
  const model::Ipv4 first = *take_address(state, kAcme);
  const model::Ipv4 second = *take_address(state, kAcme);
  give_back_address(state, kAcme, second);
  give_back_address(state, kAcme, first);
  EXPECT_EQ(take_address(state, kAcme), second);
  EXPECT_EQ(take_address(state, kAcme), first);
}

TEST(AddressPool, GivesANodeOneAddressInANetwork) {
  State state({});
  network_for(state, kAcme, a_small_config());
  const auto address = node_address_for(state, kAcme, kNode);
  EXPECT_EQ(node_address_for(state, kAcme, kNode), address);
  EXPECT_TRUE(give_back_addresses_of(state, kNode));
  EXPECT_FALSE(give_back_addresses_of(state, kNode));
  EXPECT_TRUE(state.durable().node_addresses.empty());
  EXPECT_EQ(state.durable().freed_addresses.size(), 1U);
}

}  // namespace
}  // namespace berth::control
