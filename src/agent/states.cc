#include "agent/states.h"

#include <algorithm>
#include <utility>

#include "base/alarms.h"

namespace berth::agent {
namespace {

// Of what one report carries; the rest goes with the next.
constexpr std::size_t kBytesMax = 16 << 20;
constexpr Duration kSoon = 100ms;

}  // namespace

States::States(const Restored& restored) : handed_(restored.handed) {
  for (const auto& [key, state] : restored.last) {
    unheard_.emplace(key, Unheard{.state = state, .due = {}, .ended = true});
  }
}

// --- To this node --------------------------------------------------------------------------------

void States::hand(const model::SavedState& state, std::vector<Write>& writes) {
  // What was left here in an earlier time is older than what comes now.
  forget_saved(state.key, writes);
  handed_.insert_or_assign(state.key, state);
  writes.push_back(WriteHanded{state.key, state});
}

const model::SavedState* States::handed(const model::InstanceKey& key) const {
  const auto found = handed_.find(key);
  return found == handed_.end() ? nullptr : &found->second;
}

void States::drop_handed(const model::InstanceKey& key, std::vector<Write>& writes) {
  if (handed_.erase(key) > 0) writes.push_back(WriteHanded{key, std::nullopt});
}

// --- From this node ------------------------------------------------------------------------------

bool States::save(const Context& context, const StateSaved& saved) {
  // What an old run has left is not what counts when another state waits to be taken. A run whose
  // start was never answered may have taken it.
  if (const auto* waits = handed(saved.key)) {
    if (saved.goes_on_from != model::name_of(*waits)) return false;
    drop_handed(saved.key, context.effects.writes);
  }
  std::uint64_t& newest = newest_[saved.key];
  if (saved.order < newest) return false;
  newest = saved.order;
  const auto unheard = unheard_.find(saved.key);
  const auto heard = heard_.find(saved.key);
  const std::string* last = unheard != unheard_.end() ? &unheard->second.state.digest
                            : heard != heard_.end()   ? &heard->second
                                                      : nullptr;
  if (last != nullptr && *last == saved.digest) return false;
  forget_saved(saved.key, context.effects.writes);
  model::SavedState state{.key = saved.key, .digest = saved.digest, .content = saved.content};
  unheard_.insert_or_assign(saved.key, Unheard{.state = std::move(state), .due = context.now});
  return true;
}

void States::end(const Context& context, const model::InstanceKey& key) {
  newest_.erase(key);
  const auto found = unheard_.find(key);
  if (found == unheard_.end()) {
    heard_.erase(key);
    return;
  }
  if (std::exchange(found->second.ended, true)) return;
  // Whoever hears that it is gone hears this with it, also where it was said before: that may have
  // been lost.
  found->second.due = context.now;
  context.effects.writes.push_back(WriteLast{key, found->second.state});
}

void States::heard(const model::InstanceKey& key, const std::string& digest,
                   std::vector<Write>& writes) {
  const auto found = unheard_.find(key);
  if (found == unheard_.end() || found->second.state.digest != digest) return;
  const bool has_ended = found->second.ended;
  forget_saved(key, writes);
  // What may come by this name says itself what it has, whatever was said of the one that is over.
  if (!has_ended) heard_.insert_or_assign(key, digest);
}

void States::forget_saved(const model::InstanceKey& key, std::vector<Write>& writes) {
  heard_.erase(key);
  const auto found = unheard_.find(key);
  if (found == unheard_.end()) return;
  if (found->second.ended) writes.push_back(WriteLast{key, std::nullopt});
  unheard_.erase(found);
}

// --- For the report ------------------------------------------------------------------------------

void States::connected(Time now) {
  for (auto& [key, unheard] : unheard_) unheard.due = now;
}

std::optional<Time> States::next() const {
  std::optional<Time> earliest;
  for (const auto& [key, unheard] : unheard_) take_earlier(earliest, unheard.due);
  return earliest;
}

std::vector<model::SavedState> States::take(const Context& context, For report) {
  std::vector<model::SavedState> states;
  std::size_t bytes = 0;
  const auto take_those = [&](bool ended) {
    for (auto& [key, unheard] : unheard_) {
      const bool is_meant = unheard.due <= context.now || (ended && report == For::FullReport);
      if (unheard.ended != ended || !is_meant) continue;
      bytes += unheard.state.content.size();
      if (bytes > kBytesMax && !states.empty()) return;
      unheard.due = context.now + context.config.state_resend;
      states.push_back(unheard.state);
    }
  };
  take_those(true);
  if (report == For::Changes) take_those(false);
  for (auto& [key, unheard] : unheard_) unheard.due = std::max(unheard.due, context.now + kSoon);
  return states;
}

}  // namespace berth::agent
