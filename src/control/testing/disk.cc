#include "control/testing/disk.h"

#include <string>
#include <variant>

namespace berth::control {
namespace {

template <class Map, class Text>
void erase_named(Map& map, const std::string& name, Text text_of) {
  erase_if(map, [&](const auto& entry) { return text_of(entry.first) == name; });
}

void erase(Durable& disk, const Write& write) {
  const auto as_is = [](const std::string& key) { return key; };
  const auto value = [](const auto& id) { return id.value(); };
  const auto text = [](const auto& key) { return model::to_string(key); };
  const auto number = [](std::uint64_t key) {
    const std::string digits = std::to_string(key);
    return std::string(20 - digits.size(), '0') + digits;
  };
  const auto request = [](const RequestKey& key) {
    return key.first.value() + "/" + key.second.value();
  };
  switch (write.table) {
    case Table::Items: return erase_named(disk.items, write.key, text);
    case Table::Deployments: return erase_named(disk.deployments, write.key, as_is);
    case Table::NodeConfigs: return erase_named(disk.node_configs, write.key, as_is);
    case Table::Nodes: return erase_named(disk.nodes, write.key, value);
    case Table::Instances: return erase_named(disk.instances, write.key, text);
    case Table::States: return erase_named(disk.states, write.key, text);
    case Table::Groups: return erase_named(disk.groups, write.key, value);
    case Table::FreedUids: return erase_named(disk.freed_uids, write.key, number);
    case Table::Networks: return erase_named(disk.networks, write.key, value);
    case Table::NodeAddresses:
      return erase_named(disk.node_addresses, write.key, [](const auto& key) {
        return key.first.value() + "/" + key.second.value();
      });
    case Table::FreedAddresses:
      return erase_named(disk.freed_addresses, write.key, [&](const auto& key) {
        return key.first.value() + "/" + number(key.second);
      });
    case Table::Counters: return;
    case Table::Rollouts: return erase_named(disk.rollouts, write.key, request);
    case Table::EnvOverrides: return erase_named(disk.env_overrides, write.key, as_is);
    case Table::Subjects: return erase_named(disk.subjects, write.key, value);
    case Table::Decisions: return erase_named(disk.decisions, write.key, text);
  }
}

struct Putter {
  Durable& disk;

  void operator()(const model::Item& item) const {
    disk.items.insert_or_assign(model::key_of(item), item);
  }
  void operator()(const model::Deployment& record) const {
    disk.deployments.insert_or_assign(record.name, record);
  }
  void operator()(const model::NodeConfig& record) const {
    disk.node_configs.insert_or_assign(record.name, record);
  }
  void operator()(const model::NodeRecord& record) const {
    disk.nodes.insert_or_assign(record.id, record);
  }
  void operator()(const model::InstanceRecord& record) const {
    disk.instances.insert_or_assign(record.key, record);
  }
  void operator()(const model::StateRecord& record) const {
    disk.states.insert_or_assign(record.state.key, record);
  }
  void operator()(const model::GroupRecord& record) const {
    disk.groups.insert_or_assign(record.item, record);
  }
  void operator()(const model::FreedIdRecord& record) const {
    disk.freed_uids.insert_or_assign(record.sequence, record);
  }
  void operator()(const model::NetworkRecord& record) const {
    disk.networks.insert_or_assign(record.owner, record);
  }
  void operator()(const model::NodeAddressRecord& record) const {
    disk.node_addresses.insert_or_assign({record.owner, record.node}, record);
  }
  void operator()(const model::FreedAddressRecord& record) const {
    disk.freed_addresses.insert_or_assign({record.owner, record.sequence}, record);
  }
  void operator()(const model::CounterRecord& record) const { disk.counters = record; }
  void operator()(const model::RolloutRecord& record) const {
    disk.rollouts.insert_or_assign({record.item, record.subject}, record);
  }
  void operator()(const model::EnvOverride& record) const {
    disk.env_overrides.insert_or_assign(record.name, record);
  }
  void operator()(const model::Subject& record) const {
    disk.subjects.insert_or_assign(record.id, record);
  }
  void operator()(const model::DecisionRecord& record) const {
    disk.decisions.insert_or_assign(record.key, record);
  }
};

}  // namespace

void apply_writes(Durable& disk, const std::vector<Write>& writes) {
  for (const Write& write : writes) {
    if (write.record) {
      std::visit(Putter{disk}, *write.record);
    } else {
      erase(disk, write);
    }
  }
}

}  // namespace berth::control
