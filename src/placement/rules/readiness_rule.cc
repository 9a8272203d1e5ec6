#include "placement/rules/rules.h"

namespace berth::placement {
namespace {

// The raw state of this very runtime counts, not that of its kind: another one being ready helps
// nobody who is sent here.
std::optional<Shortfall> readiness_turns_down(const Candidate& candidate) {
  const bool ready = candidate.runtime->ready == model::Readiness::Ready;
  if (ready || candidate.request.item->tolerates.contains(model::Toleration::RuntimeNotReady)) {
    return std::nullopt;
  }
  return Shortfall{};
}

}  // namespace

const Rule readiness_rule{Reason::RuntimeNotReady, Purpose::Place, About::Kind,
                          readiness_turns_down};

}  // namespace berth::placement
