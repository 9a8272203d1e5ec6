#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/decision.h"
#include "placement/pipeline.h"
#include "placement/rule.h"

namespace berth::placement {

// Of how many nodes what they said is kept, see docs/adr/0022.
constexpr std::size_t kAnswersMax = 8;

// Hears what the nodes say to one instance and keeps what matters most: what fits, the best first,
// then those that got furthest through the rules. What it leaves is kept in any case. It is told of
// every runtime of every node for each instance that is placed, so it must cost next to nothing:
// figures and pointers are kept, strings are made for those few that are kept at the end.
class Recorder {
 public:
  // Forgets everything. `leaves`: the node that the next instance comes from.
  void listen_to(std::optional<std::size_t> leaves) {
    leaves_ = leaves;
    begin();
  }

  // Forgets what was said to another image.
  void begin();

  // A runtime of the node that is looked at.
  void turned_down(const Verdict& verdict) {
    if (!matters(verdict)) return;
    if (!furthest_ || got_further(verdict, *furthest_)) furthest_ = verdict;
  }
  // The runtimes of that node that no rule turned down.
  void end_of_node(std::span<const Fit> fits) {
    ++heard_;
    if (fits.size() == 1 && is_clearly_too_late(fits.front())) {
      furthest_.reset();
    } else if (!fits.empty() || furthest_) {
      keep_answer(fits);
    }
  }

  // So many nodes have been asked, and these fit best, the best first: as many as are kept. Nothing
  // else that they said would be, but by the node that is left.
  void heard(std::size_t nodes, std::vector<Fit> best) {
    begin();
    heard_ = nodes;
    fits_ = std::move(best);
  }
  // What was turned down last is the node that is left.
  void left() { left_ = std::exchange(furthest_, std::nullopt); }

  // What was said, for one that is placed there, in a pipeline over these nodes.
  model::NodeAnswers answers(const Pipeline& pipeline, const Ask& request, Slot chosen) const;
  // What was said to one that is refused.
  model::NodeAnswers answers(const Pipeline& pipeline, const Ask& request) const;

 private:
  struct Pick;

  bool matters(const Verdict& verdict) const {
    return misses_.size() < kAnswersMax || got_further(verdict, misses_.back()) ||
           verdict.node == leaves_;
  }
  // Most nodes of a big unit: this spares the look at all preferences.
  bool is_clearly_too_late(const Fit& fit) const {
    if (fits_.size() < kAnswersMax) return false;
    const Fit& last = fits_.back();
    return fit.priority < last.priority ||
           (fit.priority == last.priority && fit.cpu_left < last.cpu_left);
  }
  void keep_answer(std::span<const Fit> fits);
  void add_misses(std::optional<std::size_t> but, std::vector<Pick>& picks) const;
  model::NodeAnswers answers_of(std::vector<Pick> picks, const Fit* winner,
                                const Pipeline& pipeline, const Ask& request) const;

  std::optional<std::size_t> leaves_;
  std::size_t heard_ = 0;
  std::optional<Verdict> furthest_;  // of the node that is looked at
  std::optional<Verdict> left_;      // what the node that it leaves says
  std::vector<Fit> fits_;            // one per node, the best first
  std::vector<Verdict> misses_;      // one per node, the nearest first
};

}  // namespace berth::placement
