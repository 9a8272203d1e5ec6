#include "controld/persistence.h"

#include <array>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"
#include "codec/record.h"

namespace berth::controld {
namespace {

using control::Durable;
using control::Table;

std::string_view name_of(Table table) {
  switch (table) {
    case Table::Items: return "items";
    case Table::Deployments: return "deployments";
    case Table::NodeConfigs: return "node_configs";
    case Table::Nodes: return "nodes";
    case Table::Instances: return "instances";
    case Table::States: return "states";
    case Table::Groups: return "groups";
    case Table::FreedUids: return "freed_uids";
    case Table::Networks: return "networks";
    case Table::NodeAddresses: return "node_addresses";
    case Table::FreedAddresses: return "freed_addresses";
    case Table::Counters: return "counters";
    case Table::Rollouts: return "rollouts";
    case Table::EnvOverrides: return "env_overrides";
    case Table::Subjects: return "subjects";
    case Table::Decisions: return "decisions";
  }
  CHECK(false, "unknown table");
}

std::string store_key(Table table, std::string_view key) {
  std::string result(name_of(table));
  result += '/';
  result += key;
  return result;
}

std::string encode(const control::Record& record) {
  return std::visit([](const auto& value) { return codec::encode_record(value); }, record);
}

template <class Record, class Put>
Result<void> load_table(const store::Store& store, Table table, Put put) {
  for (const store::Entry& entry : TRY(store.list(store_key(table, "")))) {
    Result<Record> record = codec::decode_record<Record>(entry.value);
    if (!record) return Error{Code::Damaged, entry.key + ": " + record.error().message};
    put(std::move(*record));
  }
  return {};
}

}  // namespace

std::vector<store::Change> to_changes(const std::vector<control::Write>& writes) {
  std::vector<store::Change> changes;
  changes.reserve(writes.size());
  for (const control::Write& write : writes) {
    store::Change& change = changes.emplace_back();
    change.key = store_key(write.table, write.key);
    if (write.record) change.value = encode(*write.record);
  }
  return changes;
}

Result<Durable> load(const store::Store& store) {
  Durable durable;
  TRY(load_table<model::Item>(store, Table::Items, [&](model::Item item) {
    durable.items.insert_or_assign(model::key_of(item), std::move(item));
  }));
  TRY(load_table<model::Deployment>(store, Table::Deployments, [&](model::Deployment deployment) {
    durable.deployments.insert_or_assign(deployment.name, std::move(deployment));
  }));
  TRY(load_table<model::NodeConfig>(store, Table::NodeConfigs, [&](model::NodeConfig config) {
    durable.node_configs.insert_or_assign(config.name, std::move(config));
  }));
  TRY(load_table<model::NodeRecord>(store, Table::Nodes, [&](model::NodeRecord node) {
    durable.nodes.insert_or_assign(node.id, std::move(node));
  }));
  TRY(load_table<model::InstanceRecord>(
      store, Table::Instances, [&](model::InstanceRecord instance) {
        durable.instances.insert_or_assign(instance.key, std::move(instance));
      }));
  TRY(load_table<model::StateRecord>(store, Table::States, [&](model::StateRecord state) {
    durable.states.insert_or_assign(state.state.key, std::move(state));
  }));
  TRY(load_table<model::GroupRecord>(store, Table::Groups, [&](model::GroupRecord group) {
    durable.groups.insert_or_assign(group.item, std::move(group));
  }));
  TRY(load_table<model::FreedIdRecord>(store, Table::FreedUids, [&](model::FreedIdRecord freed) {
    durable.freed_uids.insert_or_assign(freed.sequence, freed);
  }));
  TRY(load_table<model::NetworkRecord>(store, Table::Networks, [&](model::NetworkRecord network) {
    durable.networks.insert_or_assign(network.owner, std::move(network));
  }));
  TRY(load_table<model::NodeAddressRecord>(
      store, Table::NodeAddresses, [&](model::NodeAddressRecord address) {
        durable.node_addresses.insert_or_assign({address.owner, address.node}, std::move(address));
      }));
  TRY(load_table<model::FreedAddressRecord>(
      store, Table::FreedAddresses, [&](model::FreedAddressRecord freed) {
        durable.freed_addresses.insert_or_assign({freed.owner, freed.sequence}, std::move(freed));
      }));
  TRY(load_table<model::CounterRecord>(
      store, Table::Counters, [&](model::CounterRecord counters) { durable.counters = counters; }));
  TRY(load_table<model::RolloutRecord>(store, Table::Rollouts, [&](model::RolloutRecord rollout) {
    durable.rollouts.insert_or_assign({rollout.item, rollout.subject}, std::move(rollout));
  }));
  TRY(load_table<model::EnvOverride>(store, Table::EnvOverrides, [&](model::EnvOverride override) {
    durable.env_overrides.insert_or_assign(override.name, std::move(override));
  }));
  TRY(load_table<model::Subject>(store, Table::Subjects, [&](model::Subject subject) {
    durable.subjects.insert_or_assign(subject.id, std::move(subject));
  }));
  TRY(load_table<model::DecisionRecord>(
      store, Table::Decisions, [&](model::DecisionRecord decision) {
        durable.decisions.insert_or_assign(decision.key, std::move(decision));
      }));
  return durable;
}

Result<Durable> load_or_begin(store::Store& store, const Unit& unit) {
  Durable durable = TRY(load(store));
  const bool is_new = durable.counters.revision == 0 && durable.node_configs.empty();
  if (!is_new && !durable.counters.cluster.empty()) return durable;
  std::vector<control::Write> writes;
  if (is_new) {
    const model::NodeConfig shipped = model::shipped_config();
    durable.node_configs.emplace(shipped.name, shipped);
    writes.push_back({Table::NodeConfigs, shipped.name, shipped});
    if (unit.is_known) durable.counters.hold = model::Hold{model::HoldReason::StoreLost, {}, {}};
  }
  durable.counters.cluster = unit.new_cluster;
  writes.push_back({Table::Counters, control::kCountersKey, durable.counters});
  TRY(store.commit(to_changes(writes)));
  return durable;
}

}  // namespace berth::controld
