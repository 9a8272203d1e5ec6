#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/indexed_map.h"
#include "model/application.h"
#include "model/decision.h"
#include "model/deployment.h"
#include "model/item.h"
#include "model/node.h"
#include "model/override.h"
#include "model/records.h"

// What is durable of a control plane. `kTables` is the one list of it: putting, erasing, loading,
// saving, following another's writes and reading a store from outside derive from it. A new record
// needs its type, its description in the codec, and here a member and a line.
namespace berth::model {

// A run request: no two are for the same item and subject.
using RequestKey = std::pair<ItemId, SubjectId>;

// The durable state: what is on disk, and exactly the same in memory. `desired` is what users asked
// for, the rest is what we decided. What nodes report is observed, and is not here.
struct Durable {
  // desired
  std::map<ItemKey, Item> items;
  std::map<std::string, Deployment> deployments;
  std::map<std::string, NodeConfig> node_configs;
  std::map<std::string, EnvOverride> env_overrides;
  std::map<SubjectId, Subject> subjects;
  // The default one is there without having been written.
  std::map<std::string, Namespace> namespaces = {{Namespace::kDefault, {Namespace::kDefault}}};
  std::map<ApplicationKey, Application> applications;
  // decided
  std::map<NodeId, NodeRecord> nodes;
  IndexedMap<InstanceKey, InstanceRecord> instances;
  IndexedMap<InstanceKey, DecisionRecord> decisions;  // also of one that got no ids
  std::map<InstanceKey, StateRecord> states;
  std::map<ItemId, GroupRecord> groups;
  std::map<std::uint64_t, FreedIdRecord> freed_uids;
  std::map<OwnerId, NetworkRecord> networks;
  std::map<std::pair<OwnerId, NodeId>, NodeAddressRecord> node_addresses;
  std::map<std::pair<OwnerId, std::uint64_t>, FreedAddressRecord> freed_addresses;
  std::map<RequestKey, RolloutRecord> rollouts;
  std::map<std::uint64_t, LifeRecord> lives;
  std::map<ApplicationKey, NumberBlockRecord> number_blocks;
  std::map<std::string, PortBlockRecord> port_blocks;
  CounterRecord counters;

  friend bool operator==(const Durable&, const Durable&) = default;
};

// How keys are written, such that the order of numbers is the order of their texts; and the exact
// inverse: nullopt if the text is no such key.
template <class Key>
std::string key_text(const Key& key);
template <class Key>
std::optional<Key> read_key(std::string_view text);

// A table of many records, each under its key.
template <class Map>
struct RecordTable {
  using Record = typename Map::mapped_type;
  using Key = typename Map::key_type;

  std::string_view name;  // in the store
  Map Durable::*records;
  Key (*key_of)(const Record& record);

  const Record* find(const Durable& durable, const Key& key) const {
    const auto found = (durable.*records).find(key);
    return found == (durable.*records).end() ? nullptr : &found->second;
  }
  // False: it is there already, just so.
  template <class R>
  bool put(Durable& durable, R&& record) const {
    Map& map = durable.*records;
    const Key key = key_of(record);
    const auto found = map.find(key);
    if (found == map.end()) {
      map.emplace(key, std::forward<R>(record));
    } else if (found->second == record) {
      return false;
    } else {
      found->second = std::forward<R>(record);
    }
    return true;
  }
  // False: there is none.
  bool erase(Durable& durable, const Key& key) const { return (durable.*records).erase(key) > 0; }
};

// Clang 14 does not find these by itself.
template <class Map>
RecordTable(std::string_view, Map Durable::*,
            typename Map::key_type (*)(const typename Map::mapped_type&)) -> RecordTable<Map>;

// The key of the record of a table that has but one.
struct OnlyKey {};

// A table of one record, which is always there.
template <class Only>
struct OnlyRecord {
  using Record = Only;
  using Key = OnlyKey;

  std::string_view name;
  Only Durable::*record;

  static OnlyKey key_of(const Only&) { return {}; }
  const Only* find(const Durable& durable, OnlyKey) const { return &(durable.*record); }
  bool put(Durable& durable, const Only& value) const {
    if (durable.*record == value) return false;
    durable.*record = value;
    return true;
  }
  static bool erase(Durable&, OnlyKey) { return false; }
};

template <class Only>
OnlyRecord(std::string_view, Only Durable::*) -> OnlyRecord<Only>;

// A line is: the name in the store, where it is in memory, and what a record is found by.
inline constexpr std::tuple kTables{
    RecordTable{"items", &Durable::items, +[](const Item& item) { return key_of(item); }},
    RecordTable{"deployments", &Durable::deployments, +[](const Deployment& r) { return r.name; }},
    RecordTable{"node_configs", &Durable::node_configs,
                +[](const NodeConfig& r) { return r.name; }},
    RecordTable{"nodes", &Durable::nodes, +[](const NodeRecord& r) { return r.id; }},
    RecordTable{"instances", &Durable::instances, +[](const InstanceRecord& r) { return r.key; }},
    RecordTable{"states", &Durable::states, +[](const StateRecord& r) { return r.state.key; }},
    RecordTable{"groups", &Durable::groups, +[](const GroupRecord& r) { return r.item; }},
    RecordTable{"freed_uids", &Durable::freed_uids,
                +[](const FreedIdRecord& r) { return r.sequence; }},
    RecordTable{"networks", &Durable::networks, +[](const NetworkRecord& r) { return r.owner; }},
    RecordTable{"node_addresses", &Durable::node_addresses,
                +[](const NodeAddressRecord& r) { return std::pair(r.owner, r.node); }},
    RecordTable{"freed_addresses", &Durable::freed_addresses,
                +[](const FreedAddressRecord& r) { return std::pair(r.owner, r.sequence); }},
    OnlyRecord{"counters", &Durable::counters},
    RecordTable{"rollouts", &Durable::rollouts,
                +[](const RolloutRecord& r) { return RequestKey(r.item, r.subject); }},
    RecordTable{"env_overrides", &Durable::env_overrides,
                +[](const EnvOverride& r) { return r.name; }},
    RecordTable{"subjects", &Durable::subjects, +[](const Subject& r) { return r.id; }},
    RecordTable{"decisions", &Durable::decisions, +[](const DecisionRecord& r) { return r.key; }},
    RecordTable{"lives", &Durable::lives, +[](const LifeRecord& r) { return r.since; }},
    RecordTable{"namespaces", &Durable::namespaces, +[](const Namespace& r) { return r.name; }},
    RecordTable{"applications", &Durable::applications,
                +[](const Application& r) { return key_of(r); }},
    RecordTable{"number_blocks", &Durable::number_blocks,
                +[](const NumberBlockRecord& r) { return r.application; }},
    RecordTable{"port_blocks", &Durable::port_blocks,
                +[](const PortBlockRecord& r) { return r.address; }},
};

// Where the table of a record stands in the list.
template <class Record>
inline constexpr std::size_t kPositionOf = [] {
  std::size_t position = 0;
  std::size_t found = std::tuple_size_v<decltype(kTables)>;
  const auto look_at = [&]<class Table>(const Table&) {
    if (std::is_same_v<typename Table::Record, Record>) found = position;
    ++position;
  };
  std::apply([&](const auto&... tables) { (look_at(tables), ...); }, kTables);
  return found;
}();

template <class Record>
inline constexpr const auto& kTableOf = std::get<kPositionOf<Record>>(kTables);

template <class Record>
using KeyOf = typename std::tuple_element_t<kPositionOf<Record>, decltype(kTables)>::Key;

}  // namespace berth::model
