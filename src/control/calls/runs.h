#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "control/plan_changes.h"
#include "control/step.h"

namespace berth::control {

struct Context;

using RunNumber = std::uint64_t;

// Who waits for a run, and what else it is about beside what a plan changed.
struct RunFor {
  std::optional<CallId> call;  // nullopt: a rebalance of our own
  // Whose going back the final answer tells of, each with the version that was asked for.
  std::map<RequestKey, std::string> asked_for = {};
};

// The room of runs: what was asked for or changed, by a call or by a rebalance of our own, until
// all of it is done, so until it is proven to be well, or has failed.
class Runs {
 public:
  // Whoever still waits for another version of the same is superseded.
  RunNumber begin(Context& context, RunFor wanted, const Changed& changed);

  void decide(Context& context);
  Time next() const;

 private:
  // An instance that a run is about.
  struct Awaited {
    std::set<model::NodeId> nodes_before;  // that it must have gone from
    bool done = false;                     // for now: what was well may fail before the others are
  };
  struct Run {
    RunFor wanted;
    Time deadline;
    IndexedMap<model::InstanceKey, Awaited> awaited = {};  // what the final answer tells of
    std::size_t open = 0;                                  // of them
    std::set<RequestKey> rollouts = {};                    // that have not ended
    bool superseded = false;                               // another call asks for something else

    bool is_done() const { return open == 0 && rollouts.empty(); }
  };
  using Numbers = std::set<RunNumber>;

  static bool is_done(const Context& context, const model::InstanceKey& key,
                      const std::set<model::NodeId>& nodes_before);
  static Finished finish(const Context& context, const Run& run);
  void supersede_others(const RunFor& newcomer);
  void look_at_rollouts(Context& context, Numbers& finished);
  void wait_for_instances(Context& context, RunNumber number, const RequestKey& key);
  void look_at(const Context& context, const model::InstanceKey& key, Numbers& finished);
  void add_overdue(Time now, Numbers& finished) const;
  void add_empty(Numbers& finished) const;
  void end(Context& context, RunNumber number);

  std::map<RunNumber, Run> runs_;  // in the order of acceptance, so of deadlines too
  IndexedMap<model::InstanceKey, Numbers> waiting_for_;
  Numbers with_rollouts_;
  RunNumber next_run_ = 0;
};

}  // namespace berth::control
