#include "placement/recorder.h"

#include <algorithm>

#include "placement/verdict.h"

namespace berth::placement {
namespace {

// Keeps the first few in their order; of equals, those that came first.
template <class T, class Before>
void insert_bounded(std::vector<T>& kept, const T& added, Before before) {
  if (kept.size() == kAnswersMax) {
    if (!before(added, kept.back())) return;
    kept.pop_back();
  }
  kept.insert(std::upper_bound(kept.begin(), kept.end(), added, before), added);
}

}  // namespace

// One of the answers to keep: the one or the other.
struct Recorder::Pick {
  std::size_t node;
  const Fit* fit;
  const Verdict* verdict;
};

void Recorder::begin() {
  heard_ = 0;
  furthest_.reset();
  left_.reset();
  fits_.clear();
  misses_.clear();
}

void Recorder::keep_answer(std::span<const Fit> fits) {
  if (!fits.empty()) {
    insert_bounded(fits_, *std::ranges::min_element(fits, is_better), is_better);
  } else if (furthest_->node == leaves_) {
    left_ = furthest_;
  } else {
    insert_bounded(misses_, *furthest_, got_further);
  }
  furthest_.reset();
}

void Recorder::add_misses(std::optional<std::size_t> but, std::vector<Pick>& picks) const {
  for (const Verdict& verdict : misses_) {
    if (picks.size() == kAnswersMax) return;
    if (verdict.node == but) continue;
    picks.push_back({verdict.node, nullptr, &verdict});
  }
}

model::NodeAnswers Recorder::answers_of(std::vector<Pick> picks, const Fit* winner,
                                        const Pipeline& pipeline, const Ask& request) const {
  std::ranges::sort(picks, {}, &Pick::node);
  std::string lines;
  for (const Pick& pick : picks) {
    append_line(lines, pick.fit != nullptr ? answer_of(*winner, *pick.fit)
                                           : answer_of(pipeline.nodes()[pick.verdict->node],
                                                       request, *pick.verdict));
  }
  return {.lines = SharedText(lines),
          .left_out = static_cast<std::uint32_t>(heard_ - picks.size())};
}

model::NodeAnswers Recorder::answers(const Pipeline& pipeline, const Ask& request,
                                     Slot chosen) const {
  const Fit winner = pipeline.fit_at(request, chosen);
  std::vector<Pick> picks;
  picks.reserve(kAnswersMax);
  picks.push_back({chosen.node, &winner, nullptr});
  if (left_) picks.push_back({left_->node, nullptr, &*left_});
  for (const Fit& fit : fits_) {
    if (picks.size() == kAnswersMax) break;
    if (fit.slot.node != chosen.node) picks.push_back({fit.slot.node, &fit, nullptr});
  }
  add_misses(chosen.node, picks);
  return answers_of(std::move(picks), &winner, pipeline, request);
}

model::NodeAnswers Recorder::answers(const Pipeline& pipeline, const Ask& request) const {
  std::vector<Pick> picks;
  picks.reserve(kAnswersMax);
  if (left_) picks.push_back({left_->node, nullptr, &*left_});
  add_misses(std::nullopt, picks);
  return answers_of(std::move(picks), nullptr, pipeline, request);
}

}  // namespace berth::placement
