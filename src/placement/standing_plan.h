#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <vector>

#include "placement/ask.h"
#include "placement/cluster/cluster.h"
#include "placement/plan.h"

namespace berth::placement {

class Board;

// What those of a lower priority hold of a node, who could make room.
using LowerOn = std::function<std::vector<Holding>(std::size_t node, std::int64_t priority)>;

// What was decided about these.
struct Decisions {
  Plan plan;  // without what it means for nodes
  std::vector<Ask> requests;
};

// A plan that was carried out, and the room that it has left. It was at rest: nobody moves, and
// whoever waits has no place, also if lower priorities made room. From that follows what a plan of
// everything would say of a small change, without making it; see docs/adr/0048.
class StandingPlan {
 public:
  // REQUIRES: nobody is left alone, avoids a node, or has to leave one.
  explicit StandingPlan(Board& board);

  // Decides about those who are asked for in addition, or wait and are asked for again. nullopt: a
  // lower priority may have to make room; then this stands no longer. In scheduling order.
  std::optional<Decisions> add(std::vector<Ask> requests);

  // They are not asked for any more. Whether somebody who waits may find a place by that.
  bool let_go(const std::vector<Holding>& holdings, const LowerOn& lower_on);

  const Cluster& cluster() const { return cluster_; }
  // What a node is used for by others has changed. Whether somebody who waits may find a place by
  // that.
  bool set_system_usage(std::size_t node, const model::Usage& usage, const LowerOn& lower_on);

 private:
  // Those who wait and ask alike. They outlive the documents that they came from.
  struct Waiting {
    Ask ask;
    model::Item item;
    std::vector<std::string> labels;
    std::vector<model::NodeId> nodes;
    bool is_bound = false;  // to a runtime, or rather goes home: not looked into
  };

  void remember_waiting(const Ask& ask);
  const std::vector<const Waiting*>& whom_could_help(std::size_t node);
  bool could_help(std::size_t node, const LowerOn& lower_on);

  Cluster cluster_;
  std::optional<std::int64_t> lowest_;  // priority of those who could make room
  std::list<Waiting> waiting_;
  // By kind of node: those who would fit if there were room, the lowest priority first.
  std::map<KindNumber, std::vector<const Waiting*>> by_kind_;
};

// A plan of everything, and how it goes on when it was carried out.
struct WholePlan {
  Decisions decisions;
  std::optional<StandingPlan> standing;  // nullopt: what comes next has to be planned as a whole
};

WholePlan plan_everything(const Snapshot& snapshot);

}  // namespace berth::placement
