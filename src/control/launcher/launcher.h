#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "control/launcher/extents.h"
#include "control/plan_changes.h"
#include "control/step.h"
#include "model/ids.h"
#include "placement/standing_plan.h"

namespace berth::control {

struct Context;
struct PoolMember;

// The room of what runs where: it plans, and turns the plan into records. The last plan stands, and
// goes on with more or less that is asked for, until something else of what it was made of changes;
// then everything is planned again. See docs/adr/0048.
class Launcher {
 public:
  // Something that a plan is made of has changed: everybody is looked at, and told.
  void plan_anew();
  // The same; and what could not be done for a node that is overloaded may be possible by now.
  void cluster_changed();
  // Somebody asks: what has changed by that was said. The same may be possible by now.
  void desire_changed();
  void asks_for(Context& context, const RequestKey& key, const Extent& extent);
  // There is more or less room on the node than there was, for nothing that is ours.
  void is_used_otherwise(const model::NodeId& node) { used_otherwise_.insert(node); }
  // What refusals say of a node, and nothing that decides.
  void words_changed() { standing_.reset(); }
  // Whatever has changed.
  void plan_everything();
  // Whether it will, as far as is known by now.
  bool plans_everything() const { return all_changed_ || looks_at_all_; }

  // Its room is free for others.
  void pool_instance_gone(Context& context, const PoolMember& member);

  std::uint64_t cluster_changes() const { return cluster_changes_; }
  // By its agent: it is looked at by each plan. Whether that is news.
  bool start_refused(const model::InstanceKey& key) { return refused_starts_.insert(key).second; }

  // It goes on once in a step, however often it decides; not if it is held back.
  void begin_step(Pace pace) {
    pace_ = pace;
    may_go_on_ = pace == Pace::GoOn;
  }
  void decide(Context& context);
  Time next(const Context& context) const;
  void forget(const model::NodeId& node) { used_otherwise_.erase(node); }

 private:
  // It points into the state and the nodes that it was made of: a copy of those begins without one.
  struct Standing : std::optional<placement::StandingPlan> {
    using std::optional<placement::StandingPlan>::optional;
    using std::optional<placement::StandingPlan>::operator=;
    Standing(const Standing&) : optional() {}
    Standing& operator=(const Standing&) = delete;
  };

  bool follow_usage(Context& context);
  bool follow_usage_of(Context& context, const model::NodeId& id);
  placement::LowerOn lower_on(const Context& context) const;
  bool go_on(Context& context);
  static void add_pools(Context& context, std::vector<placement::Ask>& asks);
  bool could_be_let_go(Context& context, const std::vector<model::InstanceRecord>& unasked);
  void plan_all(Context& context);
  void rebalance(Context& context);
  void plan_until_it_rests(Context& context);
  void add_edited(Context& context);
  void add_asked(Context& context);
  void begin_runs(Context& context);

  bool must_plan_ = false;
  bool all_changed_ = false;
  bool looks_at_all_ = false;
  std::map<RequestKey, Extent> extents_;  // that have changed
  Additions additions_;                   // and what of them was not placed yet
  Pace pace_ = Pace::GoOn;
  bool may_go_on_ = true;
  std::set<model::NodeId> used_otherwise_;
  std::uint64_t cluster_changes_ = 0;
  std::set<model::InstanceKey> refused_starts_;
  Standing standing_;
  PlanChanges changes_;  // of the plans of this step, and of those before that it goes on with
};

}  // namespace berth::control
