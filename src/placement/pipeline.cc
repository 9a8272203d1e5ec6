#include "placement/pipeline.h"

#include <algorithm>

#include "base/check.h"
#include "placement/asked.h"
#include "placement/recorder.h"

namespace berth::placement {
namespace {

bool applies(const Rule& rule, Purpose purpose) {
  return purpose == Purpose::Place || rule.strictest == Purpose::Keep;
}

struct Refused {
  Reason reason;
  Shortfall shortfall;
};

std::optional<Refused> first_refusal(const Candidate& candidate) {
  for (const Rule* rule : rules()) {
    if (!applies(*rule, candidate.purpose)) continue;
    if (const auto shortfall = rule->turns_down(candidate))
      return Refused{rule->reason, *shortfall};
  }
  return std::nullopt;
}

bool is_about_the_runtime_alone(Reason reason) {
  return reason == Reason::NoMatchingPlatform || reason == Reason::RuntimeNotReady ||
         reason == Reason::InstanceLimitReached;
}

std::size_t place_in(const std::vector<model::RuntimeType>& types, model::RuntimeType type) {
  return static_cast<std::size_t>(std::ranges::find(types, type) - types.begin());
}

std::uint32_t image_count(const Ask& request) {
  return static_cast<std::uint32_t>(request.item->images.size());
}

}  // namespace

bool got_further(const Verdict& a, const Verdict& b) {
  if (a.reason != b.reason) return a.reason > b.reason;
  return a.shortfall.has.value_or(0) > b.shortfall.has.value_or(0);
}

// One image of one instance on its way through the pipeline.
struct Pipeline::Question {
  Question(const Ask& looked_for, std::uint32_t image_index, Purpose why)
      : request(looked_for),
        image(looked_for.item->images[image_index]),
        types(model::runtime_types_of(*looked_for.item, image)),
        purpose(why) {}

  const Ask& request;
  const model::Image& image;
  const std::vector<model::RuntimeType> types;
  const Purpose purpose;
};

Amounts Pipeline::asked(const Ask& request, const model::Item& item, std::size_t node) const {
  const SnapshotNode& view = nodes_[node];
  const Amounts asked = asked_of(item, view.info->capacity, view.settings);
  const bool measured = measuring_ == Measuring::Everywhere ||
                        (measuring_ == Measuring::WhereOverloaded && view.overloaded.any());
  if (!measured || request.present == nullptr) return asked;
  return raised_to_measured(asked, item, request.present->measured);
}

Candidate Pipeline::candidate(const Question& question, std::size_t node,
                              std::optional<std::size_t> runtime) const {
  return {.request = question.request,
          .image = question.image,
          .types = question.types,
          .node = nodes_[node],
          .slot = {node, runtime.value_or(0)},
          .runtime = runtime ? &nodes_[node].info->runtimes[*runtime] : nullptr,
          .asked = asked(question.request, *question.request.item, node),
          .ledger = ledger_,
          .planned = planned_,
          .purpose = question.purpose};
}

Fit Pipeline::fit_at(const Ask& request, Slot slot) const {
  const SnapshotNode& view = nodes_[slot.node];
  return {.slot = slot,
          .node = &view.id,
          .runtime = &view.info->runtimes[slot.runtime].id,
          .is_home = request.home != nullptr && request.home->node == view.id,
          .priority = view.settings.priority,
          .cpu_left = std::max(ledger_.node_cpu_left(slot.node, SystemUsage::Counted), Dmips{}),
          .ram_left = std::max(ledger_.node_ram_left(slot.node, SystemUsage::Counted), Bytes{}),
          .type_preference = 0};
}

std::vector<Fit> Pipeline::fits(const Ask& request, std::uint32_t image, Recorder* recorder) const {
  const Question question(request, image, Purpose::Place);
  std::vector<Fit> fits;
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    const SnapshotNode& view = nodes_[node];
    const std::size_t before = fits.size();
    Candidate looked_at =
        candidate(question, node, std::nullopt);  // what it asks for is the node's
    for (std::size_t runtime = 0; runtime < view.info->runtimes.size(); ++runtime) {
      looked_at.slot.runtime = runtime;
      looked_at.runtime = &view.info->runtimes[runtime];
      if (const auto refused = first_refusal(looked_at)) {
        if (recorder == nullptr) continue;
        recorder->turned_down(
            {node, &question.image, looked_at.runtime, refused->reason, refused->shortfall});
        continue;
      }
      fits.push_back(fit_at(request, {node, runtime}));
      fits.back().type_preference = place_in(question.types, view.info->runtimes[runtime].type);
    }
    if (recorder == nullptr) continue;
    if (view.info->runtimes.empty()) recorder->turned_down(furthest(question, node));
    recorder->end_of_node(std::span(fits).subspan(before));
  }
  return fits;
}

std::optional<Slot> Pipeline::choose_on(const Ask& request, std::uint32_t image,
                                        std::size_t node) const {
  const Question question(request, image, Purpose::Place);
  Candidate looked_at = candidate(question, node, std::nullopt);
  std::optional<Fit> best;
  const auto& runtimes = nodes_[node].info->runtimes;
  for (std::size_t runtime = 0; runtime < runtimes.size(); ++runtime) {
    looked_at.slot.runtime = runtime;
    looked_at.runtime = &runtimes[runtime];
    if (first_refusal(looked_at)) continue;
    Fit fit = fit_at(request, {node, runtime});
    fit.type_preference = place_in(question.types, runtimes[runtime].type);
    if (!best || is_better(fit, *best)) best = fit;
  }
  return best ? std::optional(best->slot) : std::nullopt;
}

std::optional<Choice> Pipeline::choose(const Ask& request, Recorder* recorder) const {
  for (std::uint32_t image = 0; image < image_count(request); ++image) {
    if (recorder != nullptr) recorder->begin();
    std::vector<Fit> candidates = fits(request, image, recorder);
    if (candidates.empty()) continue;
    keep_home(candidates);
    keep_top_priority(candidates);
    const Slot slot = best_fit(candidates).slot;
    return Choice{slot, image, asked(request, *request.item, slot.node)};
  }
  return std::nullopt;
}

Verdict Pipeline::furthest(const Question& question, std::size_t node) const {
  const std::size_t runtimes = nodes_[node].info->runtimes.size();
  std::optional<Verdict> furthest;
  for (std::size_t i = 0; i < std::max<std::size_t>(runtimes, 1); ++i) {
    const Candidate looked_at =
        candidate(question, node, runtimes == 0 ? std::nullopt : std::optional(i));
    const auto refused = first_refusal(looked_at);
    CHECK(refused, "only what fits nowhere is rejected");
    const Verdict verdict{node, &question.image, looked_at.runtime, refused->reason,
                          refused->shortfall};
    if (!furthest || got_further(verdict, *furthest)) furthest = verdict;
  }
  return *furthest;
}

Rejection Pipeline::reject(const Ask& request) const {
  std::optional<Rejection> furthest_image;
  for (std::uint32_t image = 0; image < image_count(request); ++image) {
    const Question question(request, image, Purpose::Place);
    Rejection rejection{.reason = Reason::NoConnectedNodes, .image = image, .verdicts = {}};
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      rejection.verdicts.push_back(furthest(question, node));
      rejection.reason = std::max(rejection.reason, rejection.verdicts.back().reason);
    }
    if (!furthest_image || rejection.reason > furthest_image->reason) {
      furthest_image = std::move(rejection);
    }
  }
  CHECK(furthest_image, "an item has at least one image");
  return *std::move(furthest_image);
}

Verdict Pipeline::reject_on(const Ask& request, std::uint32_t image, std::size_t node) const {
  return furthest(Question(request, image, Purpose::Place), node);
}

std::optional<Choice> Pipeline::keep(const Ask& request, Slot slot) const {
  for (std::uint32_t image = 0; image < image_count(request); ++image) {
    const Question question(request, image, Purpose::Keep);
    const Candidate place = candidate(question, slot.node, slot.runtime);
    if (!first_refusal(place)) return Choice{slot, image, place.asked};
  }
  return std::nullopt;
}

Rejection Pipeline::reject_kept(const Ask& request, std::size_t node,
                                std::optional<std::size_t> runtime) const {
  std::optional<Rejection> furthest_image;
  for (std::uint32_t image = 0; image < image_count(request); ++image) {
    const Question question(request, image, Purpose::Keep);
    const Candidate place = candidate(question, node, runtime);
    const auto refused = first_refusal(place);
    CHECK(refused, "only what cannot be kept is rejected");
    if (furthest_image && refused->reason <= furthest_image->reason) continue;
    furthest_image = Rejection{
        refused->reason,
        image,
        {Verdict{node, &question.image, place.runtime, refused->reason, refused->shortfall}}};
  }
  CHECK(furthest_image, "an item has at least one image");
  return *std::move(furthest_image);
}

std::vector<std::pair<Reason, Shortfall>> Pipeline::all_refusals(const Ask& request,
                                                                 std::uint32_t image,
                                                                 std::size_t node,
                                                                 std::optional<std::size_t> runtime,
                                                                 Purpose purpose) const {
  const Question question(request, image, purpose);
  Candidate looked_at = candidate(question, node, runtime);
  std::vector<std::pair<Reason, Shortfall>> refusals;
  for (const Rule* rule : rules()) {
    if (!applies(*rule, purpose)) continue;
    if (looked_at.runtime == nullptr && is_about_the_runtime_alone(rule->reason)) continue;
    const auto shortfall = rule->turns_down(looked_at);
    if (!shortfall) continue;
    refusals.emplace_back(rule->reason, *shortfall);
    // What holds of a runtime of the wrong type says nothing about the one that is missing.
    if (rule->reason == Reason::NoMatchingRuntimeType) looked_at.runtime = nullptr;
  }
  return refusals;
}

}  // namespace berth::placement
