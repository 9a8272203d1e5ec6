#include "control/id_pool.h"

#include <algorithm>

namespace berth::control {
namespace {

// The next id that nobody ever had.
std::optional<std::uint32_t> take_new(std::uint32_t& next, IdRange range) {
  next = std::max(next, range.first);
  if (next > range.last) return std::nullopt;
  return next++;
}

}  // namespace

std::optional<std::uint32_t> take_uid(State& state, IdRange range) {
  model::CounterRecord counters = state.durable().counters;
  const auto fresh = take_new(counters.next_uid, range);
  if (fresh) {
    state.put(counters);
    return fresh;
  }
  const auto& freed = state.durable().freed_uids;
  if (freed.empty()) return std::nullopt;
  const model::FreedIdRecord longest_free = freed.begin()->second;
  state.erase<model::FreedIdRecord>(longest_free.sequence);
  return longest_free.id;
}

void give_back_uid(State& state, std::uint32_t uid) {
  model::CounterRecord counters = state.durable().counters;
  state.put(model::FreedIdRecord{.sequence = counters.next_freed++, .id = uid});
  state.put(counters);
}

std::optional<std::uint32_t> gid_of(State& state, const model::ItemId& item, IdRange range) {
  const auto known = state.durable().groups.find(item);
  if (known != state.durable().groups.end()) return known->second.gid;
  model::CounterRecord counters = state.durable().counters;
  const auto fresh = take_new(counters.next_gid, range);
  if (!fresh) return std::nullopt;
  state.put(counters);
  state.put(model::GroupRecord{.item = item, .gid = *fresh});
  return fresh;
}

model::Problem no_free_ids() { return {"NoFreeUserId", "all user ids or group ids are taken"}; }

}  // namespace berth::control
