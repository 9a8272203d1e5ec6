#include "control/documents/documents.h"

namespace berth::control {

bool Documents::put(Step& step, const model::Item& item) {
  const model::ItemKey key = model::key_of(item);
  const auto& items = step.state.durable().items;
  const auto known = items.find(key);
  if (known != items.end() && known->second == item) return false;
  std::uint64_t& edition = editions_[key];
  if (known != items.end()) former_.emplace(std::pair{key, edition}, known->second);
  step.state.put(item);
  ++edition;
  step.changes.edited_items.insert(key);
  return true;
}

std::uint64_t Documents::edition_of(const model::ItemKey& key) const {
  const auto found = editions_.find(key);
  return found == editions_.end() ? 0 : found->second;
}

const model::Item* Documents::find_former(const model::ItemKey& key, std::uint64_t edition) const {
  const auto found = former_.find({key, edition});
  return found == former_.end() ? nullptr : &found->second;
}

void Documents::decide(const Step& step) {
  if (step.state.durable().rollouts.empty()) former_.clear();
}

}  // namespace berth::control
