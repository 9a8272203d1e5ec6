#include "placement/explanation.h"

#include <fmt/format.h>

#include <algorithm>

#include "placement/ask.h"

namespace berth::placement {

std::set<model::InstanceKey> known_instances(const Snapshot& snapshot) {
  std::set<model::InstanceKey> known;
  for (const Ask& request : expand(snapshot)) known.insert(request.key);
  for (const auto& [key, present] : snapshot.present) known.insert(key);
  return known;
}

Explanation explanation_of(const Plan& plan, const model::InstanceKey& key) {
  if (plan.explanation) return *plan.explanation;
  const auto stop = std::ranges::find(plan.stops, key, &Stop::key);
  if (stop == plan.stops.end()) return {key, "nothing asks for it: it is left alone", {}};
  return {
      key,
      fmt::format("runs on {}, and nothing asks for it: it stops", model::to_string(stop->place)),
      {}};
}

}  // namespace berth::placement
