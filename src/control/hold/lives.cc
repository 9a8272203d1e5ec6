#include "control/hold/lives.h"

#include <algorithm>

namespace berth::control {

void Lives::begin(std::uint64_t own, const model::CounterRecord& counters) {
  own_ = own;
  begun_at_ = counters.revision;
}

void Lives::record_own(State& state) {
  if (is_recorded_ || own_ == 0) return;
  is_recorded_ = true;
  state.put(model::LifeRecord{.since = begun_at_, .life = own_});
  const auto& lives = state.durable().lives;
  const std::uint64_t oldest = lives.begin()->first;
  if (lives.size() > kKeptMax) state.erase<model::LifeRecord>(oldest);
}

std::optional<model::CommandNumber> Lives::last_known(const Durable& durable,
                                                      const model::Receipt& receipt) const {
  const model::CommandNumber newest{durable.counters.epoch, durable.counters.revision};
  // What was before an operator has declared the store to be the truth is settled.
  if (receipt.number.epoch < newest.epoch) return newest;
  if (receipt.life == 0 || receipt.life == own_) return newest;
  const auto& lives = durable.lives;
  const auto life =
      std::ranges::find(lives, receipt.life, [](const auto& entry) { return entry.second.life; });
  if (life == lives.end()) {
    // One that was before all that are kept?
    const bool is_old = lives.size() >= kKeptMax && receipt.number.number <= lives.begin()->first;
    return is_old ? std::optional(newest) : std::nullopt;
  }
  const auto next = std::next(life);
  return model::CommandNumber{newest.epoch, next == lives.end() ? begun_at_ : next->first};
}

}  // namespace berth::control
