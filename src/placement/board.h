#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "placement/ask.h"
#include "placement/cluster/cluster.h"
#include "placement/ledger.h"
#include "placement/pipeline.h"
#include "placement/plan.h"
#include "placement/recorder.h"

namespace berth::placement {

// What has been decided about one request so far.
struct Seat {
  std::optional<Choice> choice;
  std::optional<Holding> holding;              // with a choice, and for what is left alone
  std::shared_ptr<const Rejection> rejection;  // without a choice: why
  std::string hint;
  bool left_alone = false;  // pinned, and may not stay by the rules: what runs is not touched
  model::NodeAnswers answers = {};
  std::optional<std::size_t> made_room_for = {};  // the last one to which it lost a place
};

// A planning run in progress: the requests in scheduling order, who sits where, and the room left.
// The rounds work on it one after the other.
class Board {
 public:
  Board(const Snapshot& snapshot, const Options& options);
  // For some who are asked for beside all that the cluster holds. In scheduling order.
  Board(Cluster cluster, std::vector<Ask> requests, const Options& options);

  const Snapshot& snapshot() const { return snapshot_; }
  const std::vector<SnapshotNode>& nodes() const { return cluster_.nodes(); }
  const std::vector<Ask>& requests() const { return requests_; }
  const Seat& seat(std::size_t request) const { return seats_[request]; }
  const Ledger& ledger() const { return cluster_.ledger(); }
  const Options& options() const { return options_; }
  bool is_wanted() const { return !options_.is_wanted || options_.is_wanted(); }
  Pipeline pipeline() const {
    return {nodes(), ledger(), measuring_, planned_ ? &*planned_ : nullptr};
  }
  Pipeline pipeline_on(const Ledger& ledger) const {
    return {nodes(), ledger, measuring_, nullptr};
  }
  Pipeline pipeline_on(const Ledger& ledger, const PlannedUsage& planned) const {
    return {nodes(), ledger, measuring_, &planned};
  }

  // Grows with every change of the room that is left.
  std::uint64_t version() const { return cluster_.version(); }

  // The position of a node, and of a runtime on it.
  std::optional<std::size_t> find_node(const model::NodeId& id) const;
  std::optional<std::size_t> find_runtime(std::size_t node, const model::RuntimeId& id) const;

  // What the instance holds when it is placed there.
  Holding holding_for(std::size_t request, const Choice& choice) const;
  // What the version that runs of it holds; of a node that is not known, nothing.
  std::optional<Holding> present_holding(std::size_t request) const;

  // The best place in the room that is left, if there is one.
  bool place(std::size_t request, std::string how);
  // A place that was found otherwise.
  void place_at(std::size_t request, const Choice& choice, std::string how);
  // The place that it has: no other node is asked.
  void keep(std::size_t request, const Choice& choice, std::string how);
  void unseat(std::size_t request);
  void displace(std::size_t request, std::size_t newcomer);
  void refuse(std::size_t request);
  // What runs of a pinned request stays, with its room, though it is refused.
  void leave_alone(std::size_t request, Rejection rejection);

  // From now on what was measured counts on all nodes, and nobody is overloaded by what comes.
  void begin_relief();
  const PlannedUsage& planned() const { return *planned_; }
  void report(Relief relief) { relief_.push_back(std::move(relief)); }

  // What was decided about the requests, without what it means for nodes.
  Plan take_decisions();
  // Ends the run.
  Plan take_plan();
  // REQUIRES: the run has ended.
  Cluster take_cluster() { return std::move(cluster_); }
  std::vector<Ask> take_requests() { return std::move(requests_); }

 private:
  Holding holding_of(const Ask& request, const model::Item& item, std::size_t node,
                     std::optional<std::size_t> runtime) const;
  // nullptr: what the nodes say is not kept. One at a time.
  Recorder* recorder_for(std::size_t request);
  // The best place, and what the nodes said.
  std::optional<std::pair<Choice, model::NodeAnswers>> choose(std::size_t request);
  bool hear_best(Recorder& recorder, std::size_t request, const Choice& choice);
  bool is_indexed() const {
    return options_.search == Search::Indexed && measuring_ == Measuring::Requested && !planned_;
  }
  void sit(std::size_t request, const Choice& choice, model::NodeAnswers answers);
  Placement placement_of(std::size_t request);
  Refusal refusal_of(std::size_t request);
  void add_answers(std::size_t request, Refusal& refusal);
  std::optional<model::InstanceKey> made_room_for(std::size_t request) const;
  bool tells_verdicts(std::size_t request);
  void explain(std::size_t request, std::string summary);
  bool leaves_storage(const Ask& request, const Placement& placement) const;
  NodeLoad load_of(std::size_t node) const;
  std::vector<Stop> stops() const;
  PlannedUsage usage_by_now() const;
  void count_usage(PlannedUsage& planned, std::size_t request) const;

  const Snapshot& snapshot_;
  const Options& options_;
  std::vector<Ask> requests_;
  Measuring measuring_;
  Cluster cluster_;
  std::vector<Seat> seats_;
  std::optional<std::size_t> last_refused_;  // by place(), in this room:
  std::uint64_t refused_in_ = 0;
  std::optional<std::size_t> last_told_;  // by refuse(), in this room:
  std::uint64_t told_in_ = 0;
  std::shared_ptr<const Rejection> last_answered_;  // by add_answers(), with:
  model::NodeAnswers last_answers_;
  std::size_t verdicts_left_;
  std::optional<PlannedUsage> planned_;
  std::vector<Relief> relief_;
  Recorder recorder_;
  std::optional<Explanation> explanation_;
};

}  // namespace berth::placement
