#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "control/step.h"

namespace berth::control {

struct Context;

// The room of what ends: how long cached instances are kept and overrides hold, and the erasing of
// what was deleted.
//
// Times that run out survive a restart. A record holds what was left when it was written down; here
// is when that was. An idle cluster writes nothing, so what is on disk may be older than the truth:
// after a crash things last longer by that, never shorter. Overrides hold the date of that too, and
// so end in time even if there was no control plane.
class Lifetime {
 public:
  // At a start everything has as much time left as was written down last.
  void restore(const Step& step);

  // A cached instance counts down from when it is cached until it is something else.
  void follow(const Step& step, const model::InstanceRecord& record);
  void forget(const model::InstanceKey& key);
  // The override was written down just now, and some of its variables expire; or it does not count
  // any more.
  void follow_override(const Step& step, const std::string& name);
  void forget_override(const std::string& name) { overrides_.erase(name); }
  // What the instance had there is gone, or the node is gone for good.
  void data_gone(const model::NodeId& node, const model::InstanceKey& key) {
    gone_.emplace(node, key);
  }

  // Deletes a cached instance: first its data, wherever they are, then its record and ids.
  void delete_instance(Context& context, const model::InstanceKey& key, std::string why);

  // What is no longer kept.
  void decide(Context& context);
  // Writes down what is left of the times that run out, if that is due or costs nothing.
  void write_down_due(Context& context);
  // Before the control plane stops.
  void write_down_all(Step& step);

  // When a time runs out, or must be written down at the latest.
  Time next(const Context& context) const;
  // How long a cached instance is kept from now on.
  Duration time_left(const Step& step, const model::InstanceRecord& record) const;

 private:
  struct Kept {
    Time written;  // when `kept_for` was written down
    Time until;
  };

  bool nothing_runs_out() const { return cached_.empty() && overrides_.empty(); }
  void begin_writing_down(const Step& step);
  void follow_from_now(const Step& step, const model::InstanceRecord& record);
  void finish_erasing(Context& context, const model::InstanceRecord& record);
  void forget_data(Context& context, const model::NodeId& node, const model::InstanceKey& key);
  void finish_emptied(Context& context);
  void delete_due(Context& context);
  void expire_overrides(Context& context);

  std::map<model::InstanceKey, Kept> cached_;
  std::set<std::pair<Time, model::InstanceKey>> cached_until_;
  std::map<std::string, Time> overrides_;  // when `expires` of their variables was written down
  std::optional<Time> written_down_;       // all of them, the last time
  std::set<std::pair<model::NodeId, model::InstanceKey>> gone_;
  std::set<model::InstanceKey> emptied_;  // their data are gone, and their addresses not yet
};

}  // namespace berth::control
