#pragma once

#include <map>
#include <set>
#include <vector>

#include "base/check.h"
#include "control/requests.h"
#include "control/tables.h"

namespace berth::control {

// The durable state in memory. It is changed only here, and every change is also written down, so
// memory and disk cannot diverge. Values that do not change anything are not written.
class State {
 public:
  explicit State(Durable restored);
  State(const State& other);
  State& operator=(const State&) = delete;

  const Durable& durable() const { return durable_; }
  std::uint64_t revision() const { return durable_.counters.revision; }

  // Begins a step: what was sealed can be changed again.
  void begin_step() { sealed_ = false; }

  // REQUIRES, as all that changes it: not sealed, for its writes would be lost.
  template <class Record>
  void put(const Record& record);
  // An instance is gone with its state, and with what was decided about it.
  template <class Record>
  void erase(const KeyOf<Record>& key);
  // nullptr: there is none.
  template <class Record>
  const Record* find(const KeyOf<Record>& key) const {
    return kTableOf<Record>.find(durable_, key);
  }

  // Every instance that is placed on the node, leaves it, or is erased from it.
  const std::set<model::InstanceKey>& instances_on(const model::NodeId& node) const;
  const std::set<model::InstanceKey>& waiting() const { return waiting_; }
  const Requests& requests() const { return requests_; }

  // Makes this step durable even if nothing else changed, so that its commands get a new number.
  void need_new_revision();

  // Whether this step has changed anything so far.
  bool has_changes() const { return !writes_.empty() || need_new_revision_; }

  // Ends a step: the revision grows if anything changed. Gives the batch to make durable.
  std::vector<Write> seal();

  // Follows another state: this one is what that one is, when it has applied all of its batches in
  // their order. REQUIRES: no changes of its own.
  void apply(const Write& write);

 private:
  void check_open() const { CHECK(!sealed_, "a durable change after the step was sealed"); }
  template <class Record>
  void put_plain(const Record& record);
  template <class Record>
  void erase_plain(const KeyOf<Record>& key);
  void index(const model::InstanceRecord& instance);
  void unindex(const model::InstanceKey& key);
  void index_deployment(const std::string& name);
  void unindex_deployment(const std::string& name);

  Durable durable_;
  std::map<model::NodeId, std::set<model::InstanceKey>> on_node_;
  std::set<model::InstanceKey> waiting_;
  Requests requests_;
  std::vector<Write> writes_;
  bool need_new_revision_ = false;
  bool sealed_ = false;
};

template <class Record>
void State::put_plain(const Record& record) {
  check_open();
  if (kTableOf<Record>.put(durable_, record)) writes_.push_back(put_write(record));
}

template <class Record>
void State::erase_plain(const KeyOf<Record>& key) {
  check_open();
  if (kTableOf<Record>.erase(durable_, key)) writes_.push_back(erase_write<Record>(key));
}

template <class Record>
void State::put(const Record& record) {
  put_plain(record);
}

template <class Record>
void State::erase(const KeyOf<Record>& key) {
  erase_plain<Record>(key);
}

template <>
void State::put(const model::Deployment& deployment);
template <>
void State::put(const model::InstanceRecord& instance);
template <>
void State::put(const model::StateRecord& state);
template <>
void State::put(const model::CounterRecord& counters);
template <>
void State::erase<model::InstanceRecord>(const model::InstanceKey& key);
template <>
void State::erase<model::Deployment>(const std::string& name);

}  // namespace berth::control
