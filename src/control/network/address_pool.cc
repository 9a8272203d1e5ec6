#include "control/network/address_pool.h"

#include <map>
#include <set>
#include <vector>

#include "base/check.h"

namespace berth::control {
namespace {

std::uint64_t size_of(std::uint8_t prefix) { return std::uint64_t{1} << (32 - prefix); }

// What the known networks have taken of the range. They need not be of the size that is configured
// now.
class Taken {
 public:
  explicit Taken(const Durable& durable) {
    for (const auto& [owner, network] : durable.networks) {
      subnets_.emplace(network.subnet.base, network.subnet);
      vxlans_.insert(network.vxlan);
    }
  }

  bool overlaps(const model::Subnet& subnet) const {
    const auto next = subnets_.lower_bound(subnet.base);
    if (next != subnets_.end() && model::contains(subnet, next->first)) return true;
    return next != subnets_.begin() && model::contains(std::prev(next)->second, subnet.base);
  }
  bool has_vxlan(std::uint32_t vxlan) const { return vxlans_.contains(vxlan); }

 private:
  std::map<model::Ipv4, model::Subnet> subnets_;
  std::set<std::uint32_t> vxlans_;
};

std::optional<model::NetworkRecord> new_network(const Durable& durable, const model::OwnerId& owner,
                                                const Config& config) {
  const Taken taken(durable);
  const std::uint64_t size = size_of(config.network_prefix);
  const std::uint64_t slots = size_of(config.networks.prefix) / size;
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    const model::NetworkRecord network{
        .owner = owner,
        .vxlan = static_cast<std::uint32_t>(config.first_vxlan + slot),
        .subnet = {{static_cast<std::uint32_t>(config.networks.base.value + slot * size)},
                   config.network_prefix}};
    if (!taken.overlaps(network.subnet) && !taken.has_vxlan(network.vxlan)) return network;
  }
  return std::nullopt;
}

// The last address of a subnet is for broadcasts.
bool has_fresh(const model::NetworkRecord& network) {
  return network.next_host + std::uint64_t{1} < size_of(network.subnet.prefix);
}

std::vector<model::NodeAddressRecord> addresses_in(const Durable& durable,
                                                   const model::OwnerId& owner) {
  std::vector<model::NodeAddressRecord> addresses;
  auto it = durable.node_addresses.lower_bound({owner, model::NodeId{}});
  for (; it != durable.node_addresses.end() && it->first.first == owner; ++it) {
    addresses.push_back(it->second);
  }
  return addresses;
}

const model::FreedAddressRecord* longest_free(const Durable& durable, const model::OwnerId& owner) {
  const auto first = durable.freed_addresses.lower_bound({owner, 0});
  const bool is_of_owner = first != durable.freed_addresses.end() && first->first.first == owner;
  return is_of_owner ? &first->second : nullptr;
}

}  // namespace

const model::NetworkRecord* network_for(State& state, const model::OwnerId& owner,
                                        const Config& config) {
  const auto& networks = state.durable().networks;
  if (const auto known = networks.find(owner); known != networks.end()) return &known->second;
  const auto fresh = new_network(state.durable(), owner, config);
  if (!fresh) return nullptr;
  state.put(*fresh);
  return &networks.at(owner);
}

void erase_network(State& state, const model::OwnerId& owner) {
  for (const auto& address : addresses_in(state.durable(), owner)) {
    state.erase<model::NodeAddressRecord>({owner, address.node});
  }
  while (const auto* freed = longest_free(state.durable(), owner)) {
    state.erase<model::FreedAddressRecord>({owner, freed->sequence});
  }
  state.erase<model::NetworkRecord>(owner);
}

std::optional<model::Ipv4> take_address(State& state, const model::OwnerId& owner) {
  model::NetworkRecord network = state.durable().networks.at(owner);
  if (has_fresh(network)) {
    const model::Ipv4 address{network.subnet.base.value + network.next_host++};
    state.put(network);
    return address;
  }
  const auto* freed = longest_free(state.durable(), owner);
  if (freed == nullptr) return std::nullopt;
  const model::FreedAddressRecord taken = *freed;
  state.erase<model::FreedAddressRecord>({owner, taken.sequence});
  return taken.address;
}

void give_back_address(State& state, const model::OwnerId& owner, model::Ipv4 address) {
  model::CounterRecord counters = state.durable().counters;
  state.put(model::FreedAddressRecord{
      .owner = owner, .sequence = counters.next_freed++, .address = address});
  state.put(counters);
}

std::optional<model::Ipv4> node_address_for(State& state, const model::OwnerId& owner,
                                            const model::NodeId& node) {
  const auto& known = state.durable().node_addresses;
  if (const auto found = known.find({owner, node}); found != known.end()) {
    return found->second.address;
  }
  const auto address = take_address(state, owner);
  if (address) state.put(model::NodeAddressRecord{owner, node, *address});
  return address;
}

bool give_back_addresses_of(State& state, const model::NodeId& node) {
  bool any = false;
  for (const auto& [owner, network] : state.durable().networks) {
    const auto found = state.durable().node_addresses.find({owner, node});
    if (found == state.durable().node_addresses.end()) continue;
    const model::Ipv4 address = found->second.address;
    state.erase<model::NodeAddressRecord>({owner, node});
    give_back_address(state, owner, address);
    any = true;
  }
  return any;
}

}  // namespace berth::control
