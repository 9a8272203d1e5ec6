#include "placement/recorder.h"

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
  if (kept.capacity() == 0) kept.reserve(kAnswersMax);
  kept.insert(std::upper_bound(kept.begin(), kept.end(), added, before), added);
}

void finish(model::NodeAnswers& answers, std::size_t heard) {
  answers.left_out = static_cast<std::uint32_t>(heard - answers.nodes.size());
  std::ranges::sort(answers.nodes, {}, &model::NodeAnswer::node);
}

}  // namespace

void Recorder::begin() {
  heard_ = 0;
  furthest_.reset();
  left_.reset();
  fits_.clear();
  misses_.clear();
}

void Recorder::turned_down(const Verdict& verdict) {
  if (!furthest_ || got_further(verdict, *furthest_)) furthest_ = verdict;
}

void Recorder::end_of_node(std::span<const Fit> fits) {
  ++heard_;
  if (!fits.empty()) {
    add(*std::ranges::min_element(fits, is_better));
  } else if (furthest_) {
    add(*furthest_);
  }
  furthest_.reset();
}

void Recorder::add(const Fit& fit) { insert_bounded(fits_, fit, is_better); }

void Recorder::add(const Verdict& verdict) {
  if (verdict.node == leaves_) {
    left_ = verdict;
  } else {
    insert_bounded(misses_, verdict, got_further);
  }
}

void Recorder::add_misses(const Pipeline& pipeline, const Request& request,
                          std::optional<std::size_t> but, model::NodeAnswers& answers) const {
  for (const Verdict& verdict : misses_) {
    if (answers.nodes.size() == kAnswersMax) return;
    if (verdict.node == but) continue;
    answers.nodes.push_back(answer_of(pipeline.nodes()[verdict.node], request, verdict));
  }
}

model::NodeAnswers Recorder::answers(const Pipeline& pipeline, const Request& request,
                                     Slot chosen) const {
  model::NodeAnswers answers;
  answers.nodes.reserve(std::min(heard_, kAnswersMax));
  const Fit winner = pipeline.fit_at(chosen);
  answers.nodes.push_back(answer_of(winner, winner));
  if (left_) answers.nodes.push_back(answer_of(pipeline.nodes()[left_->node], request, *left_));
  for (const Fit& fit : fits_) {
    if (answers.nodes.size() == kAnswersMax) break;
    if (fit.slot.node != chosen.node) answers.nodes.push_back(answer_of(winner, fit));
  }
  add_misses(pipeline, request, chosen.node, answers);
  finish(answers, heard_);
  return answers;
}

model::NodeAnswers Recorder::answers(const Pipeline& pipeline, const Request& request) const {
  model::NodeAnswers answers;
  answers.nodes.reserve(std::min(heard_, kAnswersMax));
  if (left_) answers.nodes.push_back(answer_of(pipeline.nodes()[left_->node], request, *left_));
  add_misses(pipeline, request, std::nullopt, answers);
  finish(answers, heard_);
  return answers;
}

}  // namespace berth::placement
