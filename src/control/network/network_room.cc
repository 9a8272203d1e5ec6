#include "control/network/network_room.h"

#include <iterator>
#include <utility>

#include "control/context.h"
#include "control/network/holders.h"
#include "control/network/network_need.h"
#include "control/network/topology.h"

namespace berth::control {
namespace {

using Keys = std::set<model::InstanceKey>;

bool is_said_by_record(const Step& step, const model::NodeId& node, const model::InstanceKey& key) {
  const auto* record = step.state.find<model::InstanceRecord>(key);
  if (record == nullptr) return false;
  return (record->place && record->place->node == node) ||
         (record->leaving && record->leaving->place.node == node);
}

// Remembers where instances are though their records do not say so.
void note_sightings(const Context& context, Networks& networks) {
  auto& elsewhere = networks.elsewhere;
  for (const auto& [node, key] : context.changes.on_nodes) {
    if (is_present(context.nodes, node, key) && !is_said_by_record(context, node, key)) {
      elsewhere[key].insert(node);
    } else if (const auto known = elsewhere.find(key); known != elsewhere.end()) {
      known->second.erase(node);
      if (known->second.empty()) elsewhere.erase(known);
    }
  }
}

}  // namespace

void NetworkRoom::restore(const Step& step) {
  networks_ = Networks{};
  restore_holdings(step.state.durable(), networks_);
}

// After a start everything is looked at once.
Keys NetworkRoom::take_keys(const Context& context) {
  Keys keys;
  if (!std::exchange(networks_.built, true)) {
    const Durable& durable = context.state.durable();
    for (const auto& [key, record] : durable.instances) keys.insert(keys.end(), key);
    for (const auto& [key, address] : durable.node_addresses) look_at(key.second);
  }
  keys.merge(std::exchange(told_without_, {}));
  keys.insert(context.changes.instances.begin(), context.changes.instances.end());
  auto beside = keys.begin();  // those of a node come in order
  for (const auto& [node, key] : context.changes.on_nodes)
    beside = std::next(keys.insert(beside, key));
  // As long as a node has not told what it runs, it may run anything.
  if (!networks_.all_heard && context.reachability.all_heard()) {
    networks_.all_heard = true;
    keys.insert(networks_.retiring.begin(), networks_.retiring.end());
  }
  return keys;
}

void NetworkRoom::decide(Context& context) {
  if (!context.reachability.settled()) return;
  note_sightings(context, networks_);
  Keys keys = take_keys(context);
  const std::set<model::NodeId> nodes = std::exchange(marked_, {});
  update_holders(context, networks_, nodes, keys);
  update_topology(context, networks_, nodes, keys);
}

std::vector<std::string> NetworkRoom::names_of(const model::InstanceKey& key) const {
  const auto member = networks_.members.find(key);
  return member == networks_.members.end() ? std::vector<std::string>{} : member->second.names;
}

std::optional<model::InstanceNetwork> NetworkRoom::network_at(const Context& context,
                                                              const model::InstanceKey& key,
                                                              const model::NodeId& node,
                                                              const std::string& version,
                                                              std::uint32_t image) const {
  const auto holding = networks_.holdings.find(key);
  if (holding == networks_.holdings.end()) return std::nullopt;
  if (networked_item(context, {key.item, version}, image, node) == nullptr) return std::nullopt;
  return holding->second;
}

NetworkOrder NetworkRoom::present_network(const model::NodeId& node) const {
  return control::present_network(networks_, node);
}

model::NodeNetwork NetworkRoom::network_of(const Step& step, const model::NodeId& node) const {
  return control::network_of(step.state.durable(), networks_, node);
}

}  // namespace berth::control
