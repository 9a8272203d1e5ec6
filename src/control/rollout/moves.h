#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/alarms.h"
#include "control/events.h"
#include "control/rollout/trials.h"

namespace berth::control {

// Where an instance has not come up, each with when it may be tried there again.
struct Avoided {
  std::string version;
  std::map<model::NodeId, Time> until;
};

// The room of moves: the new copy of an instance is on trial while the old one serves, or can be
// started again; where it did not come up it is not tried again for a while.
class Moves {
 public:
  // Those whose target does not come up: they are planned anew.
  void decide(Context& context);
  Time next() const;

  // Begins to watch over the new copy of an instance that moves, or goes on.
  void watch(Context& context, const model::InstanceRecord& record);
  // Whether the new copy has proven itself. Begins to watch over it.
  bool has_arrived(Context& context, const model::InstanceRecord& record);
  // It moves no longer, or is only now being stopped.
  void end(const model::InstanceKey& key);
  // What the node was told of it may make it late from now on, or no longer.
  void set_deadline(const model::InstanceRecord& record, Time deadline);

  // Whether the move of the instance has failed, and it shall be planned as if it still were where
  // it serves, or was stopped to hand over.
  bool has_failed(const Context& context, const model::InstanceRecord& record) const;
  // Why, of those that have failed and were not planned since; nullptr: it has not.
  const std::string* why_it_failed(const model::InstanceKey& key) const;
  bool any_has_failed() const { return !failed_.empty(); }
  void planned() { failed_.clear(); }
  // There is no other place for what has failed to move: it goes on with the one that it has.
  // Whether that changes the plan.
  bool go_on(Context& context, const model::InstanceKey& key);

  // Where instances have not come up lately.
  const std::map<model::InstanceKey, Avoided>& avoided() const { return avoided_; }
  // Somebody asks again: what has failed somewhere may be tried there once more. Whether there was
  // anything.
  bool avoid_nothing(const RequestKey& request);
  bool avoid_nothing(const model::InstanceKey& key);
  // Whether it did not come up elsewhere, starts again on this node, and stays there until it has.
  bool is_returning_to(const model::InstanceKey& key, const model::NodeId& node) const;

 private:
  // The new copy of an instance that moves, while the old one serves.
  struct Move {
    model::Place target;
    Trial trial;
    bool is_last_resort = false;  // there is no other place: until its deadline it may fail
    Time go_back_at{};            // of a last resort, where nothing serves: it is tried again then
  };

  static Time last_chance(const model::InstanceRecord& record, const Move& move);
  static bool must_come_up_here(const Context& context, const model::InstanceRecord& record,
                                const Move& move);
  static Judgement judge(Context& context, const model::InstanceRecord& record, Move& move);

  Move* find(const model::InstanceRecord& record);
  Move& begin(const Context& context, const model::InstanceRecord& record);
  Move& find_or_begin(const Context& context, const model::InstanceRecord& record);
  void avoid(const Context& context, const model::InstanceRecord& record);
  void fail(Context& context, const model::InstanceRecord& record, const model::Problem& problem);
  bool can_be_given_up(const Context& context, const model::InstanceRecord& record) const;
  std::optional<Time> next_look_at(const Context& context, const model::InstanceRecord& record,
                                   const Move& move, const Judgement& judgement) const;
  void look_at(Context& context, const model::InstanceKey& key);
  Judgement look_on(Context& context, const model::InstanceRecord& record);
  void release_the_returned(Context& context);
  void forget_old_failures(Context& context);
  bool has_had_its_time(Context& context, const model::InstanceRecord& record);
  bool is_stranded(const Context& context, const model::InstanceRecord& record,
                   const Judgement& judgement);

  std::map<model::InstanceKey, Move> moves_;
  Alarms<model::InstanceKey> alarms_;
  std::map<model::InstanceKey, std::string> failed_;  // why; until the next plan
  std::map<model::InstanceKey, Avoided> avoided_;
  Alarms<model::InstanceKey> avoided_alarms_;
  std::map<model::InstanceKey, model::NodeId> returning_;
};

}  // namespace berth::control
