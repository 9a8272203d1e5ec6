#include "placement/rules/rules.h"

namespace berth::placement {
namespace {

std::optional<Shortfall> labels_turns_down(const Candidate& candidate) {
  for (const std::string& label : candidate.request.labels) {
    if (candidate.node.settings.labels.contains(label)) continue;
    return Shortfall{.asked = {}, .has = {}, .what = &label};
  }
  return std::nullopt;
}

}  // namespace

const Rule labels_rule{Reason::NoMatchingLabels, Purpose::Keep, About::Kind, labels_turns_down};

}  // namespace berth::placement
