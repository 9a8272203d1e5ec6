#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/alarms.h"
#include "base/indexed_map.h"
#include "control/rollout/proofs.h"
#include "model/instance.h"

namespace berth::control {

struct Context;

// The room of statuses: what is known of instances beside their records, and what listeners hear of
// them.
class Statuses {
 public:
  // After a start: what was refused is, until it is decided otherwise.
  void restore(Context& context);
  // Why it could not be placed, by the last decision about it. Whether the reason is another one.
  bool refuse(Context& context, const model::InstanceKey& key, model::Problem problem);
  void forget_refusal(const model::InstanceKey& key);
  const model::Problem* refusal_of(const model::InstanceKey& key) const;
  const std::set<model::InstanceKey>& refused() const { return refused_; }
  // Those of one request, ordered by index.
  std::vector<model::InstanceKey> refused_of(
      const std::pair<model::ItemId, model::SubjectId>& request) const;

  // Whether it has not been active since it got its place.
  void got_place(const model::InstanceKey& key) { instances_[key].is_new_there = true; }
  void lost_place(const model::InstanceKey& key) { instances_[key].is_new_there = false; }
  void was_active(const model::InstanceKey& key) { instances_[key].is_new_there = false; }
  bool is_new_there(const model::InstanceKey& key) const;
  // Its node owes us a word about it within this time.
  void await_confirmation(const Context& context, const model::InstanceKey& key, Duration within);
  // It is active since then: whether its node has vouched for it for long enough. If not, it is
  // looked at when that may be so.
  bool has_been_active_since(Context& context, const model::InstanceRecord& record, Time since);
  // Whatever the node does not call otherwise is still as it was.
  void vouch(Context& context, const model::NodeId& node);

  // What listeners hear.
  void decide(Context& context);
  Time next() const { return alarms_.empty() ? kNever : alarms_.begin()->first; }
  void forget(const model::NodeId& node) { vouched_.erase(node); }

  // nullopt: nobody asks for it.
  std::optional<model::InstanceStatus> status_of(const Context& context,
                                                 const model::InstanceKey& key) const;
  // Of every instance that is asked for, ordered by key.
  std::map<model::InstanceKey, model::InstanceStatus> all(const Context& context) const;
  // The same of one request, ordered by index.
  std::vector<model::InstanceStatus> all_of(
      const Context& context, const std::pair<model::ItemId, model::SubjectId>& request) const;
  // What listeners have heard last; nullptr: nothing.
  const model::InstanceStatus* published(const model::InstanceKey& key) const;
  // Of one request, ordered by index.
  std::vector<const model::InstanceStatus*> published_of(
      const std::pair<model::ItemId, model::SubjectId>& request) const;

 private:
  // What we know of an instance beside its record.
  struct Known {
    Time confirmed_by;           // when its node must have said a word about it
    bool is_new_there = false;   // has not been active since it got its place
    std::optional<Proof> proof;  // of the run that it shall have, while that is up
    Duration since{};            // the date when it came into the state that was published last
    std::optional<model::Problem> refusal;           // of the last decision, while it waits
    std::optional<model::InstanceStatus> published;  // what listeners have heard last
  };
  struct Vouched {
    Time at = Time::min();  // of the last report that was understood
    // Active there, and not yet for long enough: when it will be, and a word can prove it.
    Alarms<model::InstanceKey> proving;
  };

  const Known* find(const model::InstanceKey& key) const;
  static std::optional<model::InstanceStatus> state_of(const Context& context,
                                                       const model::InstanceKey& key,
                                                       const model::InstanceRecord* record,
                                                       const Known* known);
  static model::InstanceStatus placed_status(const Context& context,
                                             const model::InstanceRecord& record,
                                             const Known* known, model::InstanceStatus status);
  void publish(Context& context, const model::InstanceKey& key, const model::InstanceRecord* record,
               Known& known);
  void publish_and_forget(Context& context, const model::InstanceKey& key);

  bool is_new_ = false;  // what it tells first is what was, and no news
  IndexedMap<model::InstanceKey, Known> instances_;
  std::set<model::InstanceKey> refused_;  // those with a refusal
  std::set<std::pair<Time, model::InstanceKey>> alarms_;
  std::map<model::NodeId, Vouched> vouched_;
};

}  // namespace berth::control
