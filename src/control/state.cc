#include "control/state.h"

#include <fmt/format.h>

#include "base/check.h"

namespace berth::control {
namespace {

// Fixed width, so that the order of keys is the order of numbers.
std::string sequence_key(std::uint64_t sequence) { return fmt::format("{:020}", sequence); }

std::string node_address_key(const model::OwnerId& owner, const model::NodeId& node) {
  return fmt::format("{}/{}", owner.value(), node.value());
}

std::string freed_address_key(const model::OwnerId& owner, std::uint64_t sequence) {
  return fmt::format("{}/{}", owner.value(), sequence_key(sequence));
}

std::string request_key(const RequestKey& key) {
  return key.first.value() + "/" + key.second.value();
}

}  // namespace

std::string_view to_string(Table table) {
  switch (table) {
    case Table::Items: return "items";
    case Table::Deployments: return "deployments";
    case Table::NodeConfigs: return "node-configs";
    case Table::Nodes: return "nodes";
    case Table::Instances: return "instances";
    case Table::States: return "states";
    case Table::Groups: return "groups";
    case Table::FreedUids: return "freed-uids";
    case Table::Networks: return "networks";
    case Table::NodeAddresses: return "node-addresses";
    case Table::FreedAddresses: return "freed-addresses";
    case Table::Counters: return "counters";
    case Table::Rollouts: return "rollouts";
    case Table::EnvOverrides: return "env-overrides";
    case Table::Subjects: return "subjects";
    case Table::Decisions: return "decisions";
  }
  CHECK(false, "unknown table");
}

State::State(Durable restored) : durable_(std::move(restored)) {
  for (const auto& [key, instance] : durable_.instances) index(instance);
}

template <class Map, class Key, class Value>
void State::put_in(Map& map, const Key& key, const Value& value, Table table,
                   std::string written_key) {
  const auto found = map.find(key);
  if (found == map.end()) {
    map.emplace(key, value);
  } else if (found->second == value) {
    return;
  } else {
    found->second = value;
  }
  writes_.push_back({table, std::move(written_key), Record(value)});
}

void State::put(const model::Item& item) {
  const model::ItemKey key = model::key_of(item);
  put_in(durable_.items, key, item, Table::Items, model::to_string(key));
}

void State::put(const model::Deployment& deployment) {
  put_in(durable_.deployments, deployment.name, deployment, Table::Deployments, deployment.name);
}

void State::put(const model::NodeConfig& config) {
  put_in(durable_.node_configs, config.name, config, Table::NodeConfigs, config.name);
}

void State::put(const model::NodeRecord& node) {
  put_in(durable_.nodes, node.id, node, Table::Nodes, node.id.value());
}

void State::put(const model::InstanceRecord& instance) {
  CHECK((instance.phase == model::Phase::Placed) == instance.place.has_value(),
        "an instance has a place exactly when it is placed");
  if (const auto* known = find_instance(instance.key)) unindex(*known);
  put_in(durable_.instances, instance.key, instance, Table::Instances,
         model::to_string(instance.key));
  index(instance);
}

void State::put(const model::StateRecord& state) {
  CHECK(find_instance(state.state.key) != nullptr, "a state without its instance");
  put_in(durable_.states, state.state.key, state, Table::States, model::to_string(state.state.key));
}

void State::put(const model::GroupRecord& group) {
  put_in(durable_.groups, group.item, group, Table::Groups, group.item.value());
}

void State::put(const model::FreedIdRecord& freed) {
  put_in(durable_.freed_uids, freed.sequence, freed, Table::FreedUids,
         sequence_key(freed.sequence));
}

void State::put(const model::NetworkRecord& network) {
  put_in(durable_.networks, network.owner, network, Table::Networks, network.owner.value());
}

void State::put(const model::NodeAddressRecord& address) {
  put_in(durable_.node_addresses, std::pair(address.owner, address.node), address,
         Table::NodeAddresses, node_address_key(address.owner, address.node));
}

void State::put(const model::FreedAddressRecord& freed) {
  put_in(durable_.freed_addresses, std::pair(freed.owner, freed.sequence), freed,
         Table::FreedAddresses, freed_address_key(freed.owner, freed.sequence));
}

void State::put(const model::CounterRecord& counters) {
  if (durable_.counters == counters) return;
  durable_.counters = counters;
  need_new_revision_ = true;  // seal() writes the counters
}

void State::put(const model::RolloutRecord& rollout) {
  const RequestKey key{rollout.item, rollout.subject};
  put_in(durable_.rollouts, key, rollout, Table::Rollouts, request_key(key));
}

void State::put(const model::EnvOverride& override) {
  put_in(durable_.env_overrides, override.name, override, Table::EnvOverrides, override.name);
}

void State::put(const model::Subject& subject) {
  put_in(durable_.subjects, subject.id, subject, Table::Subjects, subject.id.value());
}

void State::put(const model::DecisionRecord& decision) {
  put_in(durable_.decisions, decision.key, decision, Table::Decisions,
         model::to_string(decision.key));
}

void State::erase_item(const model::ItemKey& key) {
  if (durable_.items.erase(key) > 0) writes_.push_back({Table::Items, model::to_string(key), {}});
}

void State::erase_deployment(const std::string& name) {
  if (durable_.deployments.erase(name) > 0) writes_.push_back({Table::Deployments, name, {}});
}

void State::erase_node_config(const std::string& name) {
  if (durable_.node_configs.erase(name) > 0) writes_.push_back({Table::NodeConfigs, name, {}});
}

void State::erase_node(const model::NodeId& id) {
  if (durable_.nodes.erase(id) > 0) writes_.push_back({Table::Nodes, id.value(), {}});
}

void State::erase_instance(const model::InstanceKey& key) {
  const auto* known = find_instance(key);
  if (known == nullptr) return;
  unindex(*known);
  durable_.instances.erase(key);
  writes_.push_back({Table::Instances, model::to_string(key), {}});
  if (durable_.states.erase(key) > 0) {
    writes_.push_back({Table::States, model::to_string(key), {}});
  }
  erase_decision(key);
}

void State::erase_decision(const model::InstanceKey& key) {
  if (durable_.decisions.erase(key) > 0) {
    writes_.push_back({Table::Decisions, model::to_string(key), {}});
  }
}

void State::erase_freed_uid(std::uint64_t sequence) {
  if (durable_.freed_uids.erase(sequence) > 0) {
    writes_.push_back({Table::FreedUids, sequence_key(sequence), {}});
  }
}

void State::erase_network(const model::OwnerId& owner) {
  if (durable_.networks.erase(owner) > 0) {
    writes_.push_back({Table::Networks, owner.value(), {}});
  }
}

void State::erase_node_address(const model::OwnerId& owner, const model::NodeId& node) {
  if (durable_.node_addresses.erase({owner, node}) > 0) {
    writes_.push_back({Table::NodeAddresses, node_address_key(owner, node), {}});
  }
}

void State::erase_freed_address(const model::OwnerId& owner, std::uint64_t sequence) {
  if (durable_.freed_addresses.erase({owner, sequence}) > 0) {
    writes_.push_back({Table::FreedAddresses, freed_address_key(owner, sequence), {}});
  }
}

void State::erase_rollout(const RequestKey& key) {
  if (durable_.rollouts.erase(key) > 0) writes_.push_back({Table::Rollouts, request_key(key), {}});
}

void State::erase_env_override(const std::string& name) {
  if (durable_.env_overrides.erase(name) > 0) writes_.push_back({Table::EnvOverrides, name, {}});
}

void State::erase_subject(const model::SubjectId& id) {
  if (durable_.subjects.erase(id) > 0) writes_.push_back({Table::Subjects, id.value(), {}});
}

void State::index(const model::InstanceRecord& instance) {
  if (instance.place) on_node_[instance.place->node].insert(instance.key);
  if (instance.leaving) on_node_[instance.leaving->place.node].insert(instance.key);
  if (instance.phase == model::Phase::Waiting) waiting_.insert(instance.key);
  if (instance.phase != model::Phase::Erasing) return;
  for (const model::NodeId& node : instance.data_on) on_node_[node].insert(instance.key);
}

void State::unindex(const model::InstanceRecord& instance) {
  if (instance.place) on_node_[instance.place->node].erase(instance.key);
  if (instance.leaving) on_node_[instance.leaving->place.node].erase(instance.key);
  waiting_.erase(instance.key);
  if (instance.phase != model::Phase::Erasing) return;
  for (const model::NodeId& node : instance.data_on) on_node_[node].erase(instance.key);
}

const std::set<model::InstanceKey>& State::instances_on(const model::NodeId& node) const {
  static const std::set<model::InstanceKey> kNone;
  const auto found = on_node_.find(node);
  return found == on_node_.end() ? kNone : found->second;
}

const model::InstanceRecord* State::find_instance(const model::InstanceKey& key) const {
  const auto found = durable_.instances.find(key);
  return found == durable_.instances.end() ? nullptr : &found->second;
}

const model::StateRecord* State::find_state(const model::InstanceKey& key) const {
  const auto found = durable_.states.find(key);
  return found == durable_.states.end() ? nullptr : &found->second;
}

const model::DecisionRecord* State::find_decision(const model::InstanceKey& key) const {
  const auto found = durable_.decisions.find(key);
  return found == durable_.decisions.end() ? nullptr : &found->second;
}

std::vector<Write> State::seal() {
  if (!has_changes()) return {};
  ++durable_.counters.revision;
  writes_.push_back({Table::Counters, kCountersKey, Record(durable_.counters)});
  need_new_revision_ = false;
  return std::exchange(writes_, {});
}

}  // namespace berth::control
