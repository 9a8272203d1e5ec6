#pragma once

#include <deque>
#include <optional>
#include <set>

#include "control/calls/runs.h"
#include "control/events.h"

namespace berth::control {

struct Context;

// What the launcher shall do beside its plain work.
struct Rebalance {
  std::optional<CallId> call;
  RebalanceScope scope = RebalanceScope::Overloaded;
  std::optional<std::set<model::NodeId>> only;  // the nodes to relieve; nullopt: all
};

// The room of rebalances: one at a time, from its plan until all has come to rest and was measured
// anew. Who asked for it first, then the nodes that are overloaded and have had no attempt yet, or
// whose last one is long ago or was in another cluster. The launcher carries it out.
class Rebalances {
 public:
  void record(Context& context, const RebalanceCall& call);
  void decide(Context& context);
  Time next(const Context& context) const;

  // What is to be planned in this step, once.
  std::optional<Rebalance> take_due() { return std::exchange(due_, std::nullopt); }
  // Its moves are on their way.
  void began(RunNumber run) { run_ = run; }
  // They have come to rest, so many of them; or nothing was moved.
  void ended(const Context& context, std::size_t moved);

  bool is_run(RunNumber number) const { return run_ == number; }
  // Whether moves are on their way, or one that was called for waits for its turn.
  bool is_under_way() const { return run_ || !queue_.empty(); }

 private:
  bool may_begin(const Context& context) const;

  std::deque<RebalanceCall> queue_;
  std::optional<Rebalance> due_;
  std::optional<RunNumber> run_;
  Time not_before_ = Time::min();  // of the next one
};

}  // namespace berth::control
