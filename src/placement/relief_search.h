#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/node.h"

namespace berth::placement {

// Which of the instances on an overloaded node shall leave it: the sets that relieve it, the best
// first. A set is better if it has fewer members; then, if less load is moved, the load being the
// share of the node's cpu plus that of its ram; then, if its members come first in the order that
// they were given in. No set has a member that could stay. See ADR 16.
class ReliefSearch {
 public:
  struct Mover {
    model::Usage usage;
    bool is_required = false;  // a set has at least one of the required, if there are any
  };
  using Set = std::vector<std::size_t>;  // positions of movers, ascending

  // `need`: what must be taken off the node, 0 of what is not short.
  ReliefSearch(std::vector<Mover> movers, const model::Usage& need, const model::Usage& capacity);

  // Whether taking all of them off would do.
  bool can_relieve() const;

  // The best of those not given yet. After very much work the search gives up: then it gives one
  // set more that is good, but perhaps not the best, and ends.
  std::optional<Set> next();

 private:
  // What can still be reached with `count` movers from position `from` on.
  struct Reach {
    model::Usage most;
    std::int64_t least_load = 0;
  };
  struct Found {
    Set set;
    std::int64_t load = 0;
  };

  std::size_t fewest_that_may_do() const;
  void aim_at(std::size_t size);
  void descend(std::size_t from, const model::Usage& taken, std::int64_t load);
  void consider(const model::Usage& taken, std::int64_t load);
  bool relieves(const model::Usage& taken) const;
  bool could_one_stay(const model::Usage& taken) const;
  bool has_a_required() const;
  bool comes_after_last(std::int64_t load) const;
  const Reach& reach(std::size_t from, std::size_t count) const;
  std::optional<Set> greedy();

  const std::vector<Mover> movers_;
  const model::Usage need_;
  std::vector<std::int64_t> loads_;
  bool any_required_ = false;

  std::size_t size_ = 0;  // of the sets looked for
  std::vector<Reach> reach_;
  std::optional<Found> last_;  // the last one of this size that was given
  std::optional<Found> best_;
  Set chosen_;
  std::uint64_t steps_left_;
  bool over_ = false;
};

}  // namespace berth::placement
