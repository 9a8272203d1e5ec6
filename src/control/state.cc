#include "control/state.h"

namespace berth::control {

State::State(Durable restored) : durable_(std::move(restored)) {
  for (const auto& [key, instance] : durable_.instances) index(instance);
  for (const auto& [name, deployment] : durable_.deployments) requests_.add(deployment);
}

// Requests are found where they are.
State::State(const State& other)
    : durable_(other.durable_),
      on_node_(other.on_node_),
      waiting_(other.waiting_),
      writes_(other.writes_),
      need_new_revision_(other.need_new_revision_),
      sealed_(other.sealed_) {
  for (const auto& [name, deployment] : durable_.deployments) requests_.add(deployment);
}

template <>
void State::put(const model::Deployment& deployment) {
  unindex_deployment(deployment.name);
  put_plain(deployment);
  index_deployment(deployment.name);
}

template <>
void State::erase<model::Deployment>(const std::string& name) {
  unindex_deployment(name);
  erase_plain<model::Deployment>(name);
}

template <>
void State::put(const model::InstanceRecord& instance) {
  CHECK((instance.phase == model::Phase::Placed) == instance.place.has_value(),
        "an instance has a place exactly when it is placed");
  unindex(instance.key);
  put_plain(instance);
  index(instance);
}

template <>
void State::put(const model::StateRecord& state) {
  CHECK(find<model::InstanceRecord>(state.state.key) != nullptr, "a state without its instance");
  put_plain(state);
}

// seal() writes the counters.
template <>
void State::put(const model::CounterRecord& counters) {
  check_open();
  if (kTableOf<model::CounterRecord>.put(durable_, counters)) need_new_revision_ = true;
}

template <>
void State::erase<model::InstanceRecord>(const model::InstanceKey& key) {
  if (find<model::InstanceRecord>(key) == nullptr) return;
  unindex(key);
  erase_plain<model::InstanceRecord>(key);
  erase_plain<model::StateRecord>(key);
  erase_plain<model::DecisionRecord>(key);
}

void State::need_new_revision() {
  check_open();
  need_new_revision_ = true;
}

void State::index(const model::InstanceRecord& instance) {
  if (instance.place) on_node_[instance.place->node].insert(instance.key);
  if (instance.leaving) on_node_[instance.leaving->place.node].insert(instance.key);
  if (instance.phase == model::Phase::Waiting) waiting_.insert(instance.key);
  if (instance.phase != model::Phase::Erasing) return;
  for (const model::NodeId& node : instance.data_on) on_node_[node].insert(instance.key);
}

void State::unindex(const model::InstanceKey& key) {
  const auto* known = find<model::InstanceRecord>(key);
  if (known == nullptr) return;
  if (known->place) on_node_[known->place->node].erase(key);
  if (known->leaving) on_node_[known->leaving->place.node].erase(key);
  waiting_.erase(key);
  if (known->phase != model::Phase::Erasing) return;
  for (const model::NodeId& node : known->data_on) on_node_[node].erase(key);
}

void State::index_deployment(const std::string& name) {
  if (const auto* known = find<model::Deployment>(name)) requests_.add(*known);
}

void State::unindex_deployment(const std::string& name) {
  if (const auto* known = find<model::Deployment>(name)) requests_.remove(*known);
}

const std::set<model::InstanceKey>& State::instances_on(const model::NodeId& node) const {
  static const std::set<model::InstanceKey> kNone;
  const auto found = on_node_.find(node);
  return found == on_node_.end() ? kNone : found->second;
}

std::vector<Write> State::seal() {
  CHECK(!sealed_, "a step is sealed once");
  sealed_ = true;
  if (!has_changes()) return {};
  ++durable_.counters.revision;
  writes_.push_back(put_write(durable_.counters));
  need_new_revision_ = false;
  return std::exchange(writes_, {});
}

void State::apply(const Write& write) {
  CHECK(!has_changes(), "who follows another decides nothing itself");
  const bool is_instance = write.table == table_of<model::InstanceRecord>();
  const auto key = is_instance ? model::read_key<model::InstanceKey>(write.key) : std::nullopt;
  const bool is_deployment = write.table == table_of<model::Deployment>();
  const auto name = is_deployment ? model::read_key<std::string>(write.key) : std::nullopt;
  if (key) unindex(*key);
  if (name) unindex_deployment(*name);
  control::apply(durable_, write);
  if (name) index_deployment(*name);
  const auto* known = key ? find<model::InstanceRecord>(*key) : nullptr;
  if (known != nullptr) index(*known);
}

}  // namespace berth::control
