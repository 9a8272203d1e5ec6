#pragma once

#include <map>
#include <optional>
#include <set>

#include "control/rollout/rollout_record.h"
#include "control/rollout/rollout_review.h"
#include "placement/snapshot.h"

namespace berth::control {

// An instance that runs something older than what is asked for, and will not be updated by itself.
struct Behind {
  enum class Because { NotRestarted, RolledBack } because;
  model::Problem problem;
};

// nullopt: it is not.
std::optional<Behind> why_it_is_behind(const Context& context, const model::InstanceRecord& record);

// The room of rollouts: changes of version, instance by instance: see docs/adr/0020.
class Rollouts {
 public:
  // Follows what is asked for, and gives the next instances their turn: the plan that comes then
  // updates them. Both are repeated until nobody has to be looked at again.
  void take_turns(Context& context);
  bool must_look_again() const;
  // Whether anything is being updated or watched.
  static bool any_is_under_way(const Durable& durable);
  // The plan was made.
  void turns_taken();
  Time next() const;

  // The document of a version that the request runs was edited: what runs is started anew, one
  // after the other; what waits for another version anyway keeps what it has until then.
  void restart(Context& context, const RequestKey& key, const std::string& version);
  // The next rollout of the request keeps what works.
  void allow_partial(const RequestKey& key) { partial_.insert(key); }
  // Has a failed rollout tried once more, because somebody asks for it again.
  void try_again(Context& context, const RequestKey& key);
  // The instance has not come up in the new version: everything goes back, or only this one where
  // what works is kept.
  void give_up(Context& context, const RequestKey& key, const model::InstanceKey& instance,
               const model::Problem& problem);

  // What runs of the instance, or where, has changed.
  void look_again(const model::InstanceKey& instance);
  // Starts with another version from here on, whatever it ran before.
  static void forget_outdated(Context& context, const model::InstanceKey& instance);
  // What the node was told of it may make it late from now on, or no longer.
  void set_deadline(const model::InstanceRecord& record, Time deadline);

  // Whether it shall be updated by the plan of this step.
  bool has_turn(const model::InstanceKey& instance) const;
  // Whether nothing more happens by itself: it is done, has failed, or waits for nodes that are
  // away.
  bool is_idle(const Context& context, const RequestKey& key) const;
  // Whether it shall be started anew because its item was edited, and it is not its turn yet: until
  // then it is left alone.
  bool awaits_restart(const Context& context, const model::InstanceRecord& record) const;
  // Which version each instance of the request has now.
  placement::Versions versions_of(const Context& context,
                                  const model::RolloutRecord& rollout) const;

 private:
  void follow_documents(Context& context);
  void follow(Context& context, const RequestKey& key, const std::string& asked);
  void begin(Context& context, const RequestKey& key, const model::RolloutRecord& rollout);
  void end(Context& context, const RequestKey& key);
  bool must_be_reviewed(const Context& context, const RequestKey& key) const;
  // Whether it must be reviewed once more.
  bool review(Context& context, const RequestKey& key);
  void finish(Context& context, const RequestKey& key, const model::RolloutRecord& rollout);
  void forget_restarted(model::RolloutRecord& rollout, const model::InstanceKey& culprit) const;

  std::map<RequestKey, Rollout> under_way_;
  std::set<RequestKey> partial_;  // asked for, and not begun yet
};

}  // namespace berth::control
