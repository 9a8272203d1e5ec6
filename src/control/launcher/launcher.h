#pragma once

#include <cstdint>
#include <set>

#include "control/plan_changes.h"
#include "model/ids.h"

namespace berth::control {

struct Context;

// The room of what runs where: it plans, and turns the plan into records.
class Launcher {
 public:
  // Something that a plan is made of has changed.
  void plan_anew() { must_plan_ = true; }
  bool must_plan() const { return must_plan_; }
  // The same; and what could not be done for a node that is overloaded may be possible by now.
  void cluster_changed();
  std::uint64_t cluster_changes() const { return cluster_changes_; }
  // By its agent: it is looked at by each plan. Whether that is news.
  bool start_refused(const model::InstanceKey& key) { return refused_starts_.insert(key).second; }
  bool has_refused_starts() const { return !refused_starts_.empty(); }

  void decide(Context& context);

 private:
  void rebalance(Context& context);
  void plan_until_it_rests(Context& context);
  void add_edited(Context& context);
  void add_asked(Context& context);
  void begin_runs(Context& context);

  bool must_plan_ = false;
  std::uint64_t cluster_changes_ = 0;
  std::set<model::InstanceKey> refused_starts_;
  PlanChanges changes_;  // of the plans of this step
};

}  // namespace berth::control
