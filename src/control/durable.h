#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/indexed_map.h"
#include "model/decision.h"
#include "model/deployment.h"
#include "model/item.h"
#include "model/node.h"
#include "model/override.h"
#include "model/records.h"

namespace berth::control {

// A run request: no two are for the same item and subject.
using RequestKey = std::pair<model::ItemId, model::SubjectId>;

// The controller's durable state: what is on disk, and exactly the same in memory. `desired` is
// what users asked for, the rest is what we decided. What nodes report is observed, and is not
// here.
struct Durable {
  // desired
  std::map<model::ItemKey, model::Item> items;
  std::map<std::string, model::Deployment> deployments;
  std::map<std::string, model::NodeConfig> node_configs;
  std::map<std::string, model::EnvOverride> env_overrides;
  std::map<model::SubjectId, model::Subject> subjects;
  // decided
  std::map<model::NodeId, model::NodeRecord> nodes;
  IndexedMap<model::InstanceKey, model::InstanceRecord> instances;
  IndexedMap<model::InstanceKey, model::DecisionRecord> decisions;  // also of one that got no ids
  std::map<model::InstanceKey, model::StateRecord> states;
  std::map<model::ItemId, model::GroupRecord> groups;
  std::map<std::uint64_t, model::FreedIdRecord> freed_uids;
  std::map<model::OwnerId, model::NetworkRecord> networks;
  std::map<std::pair<model::OwnerId, model::NodeId>, model::NodeAddressRecord> node_addresses;
  std::map<std::pair<model::OwnerId, std::uint64_t>, model::FreedAddressRecord> freed_addresses;
  std::map<RequestKey, model::RolloutRecord> rollouts;
  model::CounterRecord counters;

  friend bool operator==(const Durable&, const Durable&) = default;
};

}  // namespace berth::control
