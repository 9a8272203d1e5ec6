#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
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
// figures and pointers are kept, words are made for those few that are kept at the end.
class Recorder {
 public:
  // `leaves`: the node that the instance comes from.
  explicit Recorder(std::optional<std::size_t> leaves = std::nullopt) : leaves_(leaves) {}

  // Forgets what was said to another image.
  void begin();

  // A runtime of the node that is looked at.
  void turned_down(const Verdict& verdict);
  // The runtimes of that node that no rule turned down.
  void end_of_node(std::span<const Fit> fits);

  // What was said, for one that is placed there, in a pipeline over these nodes.
  model::NodeAnswers answers(const Pipeline& pipeline, const Request& request, Slot chosen) const;
  // What was said to one that is refused.
  model::NodeAnswers answers(const Pipeline& pipeline, const Request& request) const;

 private:
  void add(const Fit& fit);
  void add(const Verdict& verdict);
  void add_misses(const Pipeline& pipeline, const Request& request, std::optional<std::size_t> but,
                  model::NodeAnswers& answers) const;

  std::optional<std::size_t> leaves_;
  std::size_t heard_ = 0;
  std::optional<Verdict> furthest_;  // of the node that is looked at
  std::optional<Verdict> left_;      // what the node that it leaves says
  std::vector<Fit> fits_;            // one per node, the best first
  std::vector<Verdict> misses_;      // one per node, the nearest first
};

}  // namespace berth::placement
