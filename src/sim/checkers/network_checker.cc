#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "control/controller.h"
#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

using model::InstanceKey;
using model::NodeId;
using model::OwnerId;

struct Placed {
  const model::InstanceRecord* record;
  const model::Item* item;
};

// What every node should have, worked out from the records alone, with no regard for cost.
class Expected {
 public:
  explicit Expected(const World& world) : durable_(world.controller()->durable()) {
    for (const auto& [node, host] : world.agents()) {
      if (const auto address = host->machine().info().address) addresses_.emplace(node, *address);
    }
    for (const auto& [key, record] : durable_.instances) add(record);
    for (const auto& [key, from] : placed_) {
      owners_of_[from.record->place->node].insert(from.item->owner);
      connect(from);
    }
  }

  model::NodeNetwork of(const NodeId& node) const {
    model::NodeNetwork network;
    const auto owners = owners_of_.find(node);
    if (owners == owners_of_.end()) return network;
    for (const OwnerId& owner : owners->second) add_network(node, owner, network);
    const auto flows = flows_of_.find(node);
    if (flows == flows_of_.end()) return network;
    for (const auto& [from, to, port, protocol] : flows->second) {
      network.flows.push_back({from, to, {port, protocol}});
    }
    return network;
  }

 private:
  using Flow = std::tuple<model::Ipv4, model::Ipv4, std::uint16_t, model::Protocol>;

  void add(const model::InstanceRecord& record) {
    if (!record.place || !addresses_.contains(record.place->node)) return;
    const auto item = durable_.items.find({record.key.item, record.version});
    if (item == durable_.items.end() || item->second.type != model::ItemType::Service) return;
    const bool is_container =
        std::holds_alternative<model::OciImage>(item->second.images.at(record.image).form);
    if (is_container) placed_.emplace(record.key, Placed{&record, &item->second});
  }

  void connect(const Placed& from) {
    for (const model::AllowedConnection& allowed : from.item->allowed_connections) {
      for (const auto& [key, to] : placed_) {
        const bool exposes =
            std::ranges::find(to.item->ports, allowed.port) != to.item->ports.end();
        if (key.item != allowed.item || to.item->owner == from.item->owner || !exposes) continue;
        const NodeId& node = from.record->place->node;
        owners_of_[node].insert(to.item->owner);
        flows_of_[node].emplace(from.record->address.value(), to.record->address.value(),
                                allowed.port.number, allowed.port.protocol);
      }
    }
  }

  void add_network(const NodeId& node, const OwnerId& owner, model::NodeNetwork& network) const {
    const model::NetworkRecord& record = durable_.networks.at(owner);
    std::vector<model::Ipv4> peers;
    for (const auto& [other, owners] : owners_of_) {
      if (other != node && owners.contains(owner)) peers.push_back(addresses_.at(other));
    }
    std::ranges::sort(peers);
    network.networks.push_back({owner, record.vxlan, record.subnet,
                                durable_.node_addresses.at({owner, node}).address, peers});
    std::map<model::Ipv4, std::vector<std::string>> names;
    for (const auto& [key, placed] : placed_) {
      if (placed.item->owner == owner)
        names[placed.record->address.value()] = names_of(key, placed);
    }
    for (auto& [address, all] : names) network.names.push_back({address, all});
  }

  static std::vector<std::string> names_of(const InstanceKey& key, const Placed& placed) {
    const std::string of_subject = key.subject.value() + "." + key.item.value();
    std::vector<std::string> names{fmt::format("{}.{}", key.index, of_subject), of_subject,
                                   key.item.value()};
    names.insert(names.end(), placed.item->hosts.begin(), placed.item->hosts.end());
    return names;
  }

  const control::Durable& durable_;
  std::map<NodeId, model::Ipv4> addresses_;
  std::map<InstanceKey, Placed> placed_;
  std::map<NodeId, std::set<OwnerId>> owners_of_;
  std::map<NodeId, std::set<Flow>> flows_of_;
};

class NetworkChecker : public Checker {
 public:
  NetworkChecker(const World& world, Violate violate)
      : world_(world), violate_(std::move(violate)) {}

  // An address that was given in a step which never became durable was never given.
  void controller_loaded(const control::Durable& durable) override {
    addresses_.clear();
    for (const auto& [key, record] : durable.instances) {
      if (record.place && record.address) addresses_.emplace(key, *record.address);
    }
  }

  void controller_stepped(const control::Effects& effects) override {
    if (effects.writes.empty()) return;
    std::map<InstanceKey, model::Ipv4> before = std::exchange(addresses_, {});
    for (const auto& [key, record] : world_.controller()->durable().instances) {
      if (!record.place) continue;
      const auto known = before.find(key);
      if (known != before.end() && record.address != known->second) {
        violate("{} has lost its address while it was placed", to_string(key));
      }
      if (record.address) addresses_.emplace(key, *record.address);
    }
  }

  // Of a node that is forgotten, or has strayed, we know nothing, until it has done what it was
  // told since then.
  void called(const control::Event& event) override {
    const auto* forget = std::get_if<control::ForgetNodeCall>(&event);
    if (forget != nullptr) strangers_.insert_or_assign(forget->node, Stranger{});
  }
  void agent_strayed(const NodeId& node) override { strangers_.insert_or_assign(node, Stranger{}); }
  void sending(const control::Outgoing& outgoing) override {
    const auto stranger = strangers_.find(outgoing.node);
    if (stranger == strangers_.end() || outgoing.command.base) return;
    if (!stranger->second.told) stranger->second.told = outgoing.command.number;
  }
  void agent_committed(const NodeId& node, const agent::Effects&) override {
    const auto found = strangers_.find(node);
    if (found == strangers_.end()) return;
    Stranger& stranger = found->second;
    const bool acted = stranger.told && world_.agents().at(node)->memory().acted >= *stranger.told;
    if (acted && !stranger.known_since) stranger.known_since = world_.now();
  }

  void acting(const NodeId& node, const agent::Action& action) override {
    const auto* start = std::get_if<agent::Start>(&action);
    if (start == nullptr || !start->spec.network || is_stranger(node, world_.now())) return;
    check_is_set_up(node, *start);
    // Where no control plane answers, an agent with an older store starts what that knows: its
    // address may have another holder by now.
    if (world_.agents().at(node)->memory().in_doubt) return;
    for (const auto& [other, host] : world_.agents()) check_holders(other, *host, *start);
  }

  void rested() override {
    const Expected expected(world_);
    for (const auto& [node, host] : world_.agents()) {
      const auto& has = host->machine().network();
      if (has.value_or(model::NodeNetwork{}) != expected.of(node)) {
        violate("the networks of {} are not what is placed makes necessary", node.value());
      }
    }
  }

 private:
  struct Stranger {
    std::optional<model::CommandNumber> told;
    std::optional<Time> known_since;
  };

  bool is_stranger(const NodeId& node, Time since) const {
    const auto found = strangers_.find(node);
    if (found == strangers_.end()) return false;
    if (world_.is_cloned(node)) return true;
    return !found->second.known_since || since <= *found->second.known_since;
  }

  void check_is_set_up(const NodeId& node, const agent::Start& start) {
    const auto& network = world_.agents().at(node)->machine().network();
    const bool is_there = network && std::ranges::any_of(network->networks, [&](const auto& one) {
                            return one.owner == start.spec.network->owner &&
                                   model::contains(one.subnet, start.spec.network->address);
                          });
    if (is_there) return;
    violate("{} is started on {} without its network", to_string(start.spec.key), node.value());
  }

  void check_holders(const NodeId& node, const AgentHost& host, const agent::Start& start) {
    for (const auto& [key, run] : host.machine().runs()) {
      const bool is_other = key.first != start.spec.key && run.spec.network &&
                            run.spec.network->address == start.spec.network->address;
      if (!is_other || is_stranger(node, run.since)) continue;
      violate("{} is held by {} on {} and given to {}", to_string(start.spec.network->address),
              to_string(key.first), node.value(), to_string(start.spec.key));
    }
  }

  template <class... Args>
  void violate(fmt::format_string<Args...> format, Args&&... args) {
    violate_("network", fmt::format(format, std::forward<Args>(args)...));
  }

  const World& world_;
  Violate violate_;
  std::map<InstanceKey, model::Ipv4> addresses_;  // of what is placed
  std::map<NodeId, Stranger> strangers_;
};

}  // namespace

CheckerPtr network_checker(const World& world, Violate violate) {
  return std::make_unique<NetworkChecker>(world, std::move(violate));
}

}  // namespace berth::sim
