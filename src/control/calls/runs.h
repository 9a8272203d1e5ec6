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
  // All of their instances are waited for, whether or not anything about them changes. Each with
  // the version that was asked for: the final answer tells if it went back.
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
    std::map<RequestKey, std::uint32_t> requests = {};     // and how many instances they had then
    IndexedMap<model::InstanceKey, Awaited> awaited = {};  // beside these
    std::size_t open = 0;                                  // of them
    std::set<RequestKey> rollouts = {};                    // that have not ended
    bool superseded = false;                               // another call asks for something else
  };
  using Numbers = std::set<RunNumber>;

  static bool is_done(const Context& context, const model::InstanceKey& key,
                      const std::set<model::NodeId>& nodes_before);
  static std::vector<model::InstanceStatus> statuses_of(const Context& context, const Run& run);
  Finished finish(const Context& context, const Run& run) const;
  bool is_done(const Run& run) const;
  void await_requests(Context& context, RunNumber number, Run& run);
  void await_instances(Context& context, RunNumber number, Run& run, const Changed& changed);
  void note_progress(const Context& context, const model::InstanceKey& key, Numbers& finished);
  void look_again(RunNumber number, Numbers& finished) const;
  void supersede_others(const RunFor& newcomer);
  void look_at_rollouts(Context& context, Numbers& finished);
  void look_at(const Context& context, const model::InstanceKey& key, Numbers& finished);
  void add_overdue(Time now, Numbers& finished) const;
  void add_empty(Numbers& finished) const;
  void end(Context& context, RunNumber number);

  std::map<RunNumber, Run> runs_;  // in the order of acceptance, so of deadlines too
  std::map<RequestKey, Numbers> waiting_for_requests_;
  IndexedMap<model::InstanceKey, Numbers> waiting_for_;
  // The indices of all instances that are not done, whether or not anybody waits for them: who asks
  // for one more of many does not have to look at all.
  std::map<RequestKey, std::set<std::uint32_t>> open_;
  Numbers with_rollouts_;
  RunNumber next_run_ = 0;
};

}  // namespace berth::control
