#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "control/durable.h"
#include "control/events.h"

namespace berth::control {

std::string_view to_string(Table table);

// Of the only record of its table.
inline constexpr const char* kCountersKey = "counters";

// The durable state in memory. It is changed only here, and every change is also written down, so
// memory and disk cannot diverge. Values that do not change anything are not written.
class State {
 public:
  explicit State(Durable restored);

  const Durable& durable() const { return durable_; }
  std::uint64_t revision() const { return durable_.counters.revision; }

  void put(const model::Item& item);
  void put(const model::Deployment& deployment);
  void put(const model::NodeConfig& config);
  void put(const model::NodeRecord& node);
  void put(const model::InstanceRecord& instance);
  void put(const model::StateRecord& state);
  void put(const model::GroupRecord& group);
  void put(const model::FreedIdRecord& freed);
  void put(const model::NetworkRecord& network);
  void put(const model::NodeAddressRecord& address);
  void put(const model::FreedAddressRecord& freed);
  void put(const model::CounterRecord& counters);
  void put(const model::RolloutRecord& rollout);
  void put(const model::EnvOverride& override);
  void put(const model::Subject& subject);
  void put(const model::DecisionRecord& decision);

  void erase_item(const model::ItemKey& key);
  void erase_deployment(const std::string& name);
  void erase_node_config(const std::string& name);
  void erase_node(const model::NodeId& id);
  // And its state, and what was decided about it.
  void erase_instance(const model::InstanceKey& key);
  void erase_freed_uid(std::uint64_t sequence);
  void erase_network(const model::OwnerId& owner);
  void erase_node_address(const model::OwnerId& owner, const model::NodeId& node);
  void erase_freed_address(const model::OwnerId& owner, std::uint64_t sequence);
  void erase_rollout(const RequestKey& key);
  void erase_env_override(const std::string& name);
  void erase_subject(const model::SubjectId& id);
  void erase_decision(const model::InstanceKey& key);

  // Every instance that is placed on the node, leaves it, or is erased from it.
  const std::set<model::InstanceKey>& instances_on(const model::NodeId& node) const;
  const std::set<model::InstanceKey>& waiting() const { return waiting_; }
  const model::InstanceRecord* find_instance(const model::InstanceKey& key) const;
  const model::StateRecord* find_state(const model::InstanceKey& key) const;
  const model::DecisionRecord* find_decision(const model::InstanceKey& key) const;

  // Makes this step durable even if nothing else changed, so that its commands get a new number.
  void need_new_revision() { need_new_revision_ = true; }

  // Whether this step has changed anything so far.
  bool has_changes() const { return !writes_.empty() || need_new_revision_; }

  // Ends a step: the revision grows if anything changed. Gives the batch to make durable.
  std::vector<Write> seal();

 private:
  template <class Map, class Key, class Value>
  void put_in(Map& map, const Key& key, const Value& value, Table table, std::string written_key);
  void index(const model::InstanceRecord& instance);
  void unindex(const model::InstanceRecord& instance);

  Durable durable_;
  std::map<model::NodeId, std::set<model::InstanceKey>> on_node_;
  std::set<model::InstanceKey> waiting_;
  std::vector<Write> writes_;
  bool need_new_revision_ = false;
};

}  // namespace berth::control
