#pragma once

#include <optional>

#include "control/config.h"
#include "control/state.h"

// Networks of owners and the addresses in them. An address that was never used is taken first, then
// the one that has been free for longest, so that it is not mistaken for its last holder's.
namespace berth::control {

// The owner's network: the one it has, else a new one; nullptr: no subnet is free.
const model::NetworkRecord* network_for(State& state, const model::OwnerId& owner,
                                        const Config& config);
// With all that is known of its addresses; nobody may hold one.
void erase_network(State& state, const model::OwnerId& owner);

// nullopt: none is free in the owner's network.
std::optional<model::Ipv4> take_address(State& state, const model::OwnerId& owner);
void give_back_address(State& state, const model::OwnerId& owner, model::Ipv4 address);

// The address of the node in the owner's network: the one it has, else a new one.
std::optional<model::Ipv4> node_address_for(State& state, const model::OwnerId& owner,
                                            const model::NodeId& node);
// Gives back all addresses of the node; whether it had any.
bool give_back_addresses_of(State& state, const model::NodeId& node);

}  // namespace berth::control
