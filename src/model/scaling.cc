#include "model/scaling.h"

#include <algorithm>

namespace berth::model {
namespace {

using Count = std::int64_t;

constexpr Count kNoLimit = std::int64_t{1} << 40;

Count rounded_up(Count dividend, Count divisor) { return (dividend + divisor - 1) / divisor; }

Count at_least_zero(Count count) { return std::max<Count>(count, 0); }

std::uint32_t narrow(Count count) { return static_cast<std::uint32_t>(at_least_zero(count)); }

Count free_now(const PoolSizes& pools) {
  return Count{pools.unplaced} + pools.pending + pools.ready;
}

// Instances that waiting sessions need, beyond the slots that are free on active ones.
Count needed_by_sessions(std::uint32_t per_instance, const PoolSizes& pools) {
  return rounded_up(at_least_zero(Count{pools.waiting} - pools.free_slots), per_instance);
}

// With `percent` of all being idle: 100 * (free - needed) = percent * (active + free).
Count scaled_free(Count percent, Count needed, const PoolSizes& pools) {
  return 100 * needed + percent * pools.active;
}

Count least_by_percent(Count percent, Count needed, const PoolSizes& pools) {
  // Of nothing there is no share: one that is idle is enough.
  if (pools.active == 0 && needed == 0) return percent > 0 ? 1 : 0;
  return rounded_up(scaled_free(percent, needed, pools), 100 - percent);
}

void set_ends_by_percent(const Band& band, const PoolSizes& pools, FreeInstances& free) {
  free.least = least_by_percent(band.low, free.needed, pools);
  // Whole instances may not hit a narrow band: then rather too many.
  free.most =
      std::max(scaled_free(band.high, free.needed, pools) / (100 - Count{band.high}), free.least);
}

void set_ends(const ScalingPolicy& policy, const PoolSizes& pools, FreeInstances& free) {
  if (policy.idle_percent) return set_ends_by_percent(*policy.idle_percent, pools, free);
  const Band idle = policy.idle.value_or(Band{});
  free.least = free.needed + idle.low;
  free.most = free.needed + idle.high;
}

// One decision about one application.
class Scaler {
 public:
  Scaler(const ScalingPolicy& policy, std::uint32_t per_instance, const PoolSizes& pools)
      : policy_(policy),
        pools_(pools),
        free_(free_now(pools)),
        wanted_(free_instances(policy, per_instance, pools).wanted),
        standby_(policy.standby.value_or(Band{})),
        may_create_(at_least_zero(burst() - pools.unplaced - pools.pending - pools.making_standby)),
        may_remove_(at_least_zero(burst() - pools.terminating)) {}

  // What has no place yet costs nothing, and is taken back without waiting.
  Count unplaced_too_many() const {
    return std::min<Count>(at_least_zero(free_ - wanted_), pools_.unplaced);
  }
  Count surplus() const { return at_least_zero(free_ - unplaced_too_many() - wanted_); }

  ScalingStep decide(Count removable) {
    fill_up();
    remove_standby();
    shrink(removable);
    make_standby();
    return step_;
  }

 private:
  Count burst() const { return policy_.burst ? Count{*policy_.burst} : kNoLimit; }

  Count all() const {
    return Count{pools_.active} + free_ + pools_.standby + pools_.making_standby;
  }
  Count over_maximum() const { return at_least_zero(all() - policy_.maximum); }

  std::uint32_t take(Count wish, Count& allowance) {
    const Count taken = std::clamp<Count>(wish, 0, allowance);
    allowance -= taken;
    return narrow(taken);
  }

  // The quickest first: what is paused, then what is on its way anyhow.
  void fill_up() {
    Count missing = at_least_zero(wanted_ - free_);
    step_.wake = take(pools_.standby, missing);
    // Over a lowered maximum they are victims like all that are pending, the next time.
    const bool is_over = over_maximum() > 0;
    step_.keep_running = is_over ? pools_.making_standby : take(pools_.making_standby, missing);
    const Count room = at_least_zero(policy_.maximum - all());
    step_.create = take(std::min(missing, room), may_create_);
  }

  void remove_standby() {
    const Count left = Count{pools_.standby} - step_.wake;
    const Count too_many = std::max(left - standby_.high, over_maximum());
    step_.remove_standby = take(std::min(too_many, left), may_remove_);
  }

  void shrink(Count removable) {
    step_.remove_unplaced = narrow(unplaced_too_many());
    const Count exceeding =
        at_least_zero(Count{pools_.active} + free_ - policy_.maximum - step_.remove_unplaced);
    Count victims = std::min(surplus(), std::max(removable, exceeding));
    const Count pending = std::min<Count>(victims, pools_.pending);
    step_.remove_pending = take(pending, may_remove_);
    victims -= pending;  // those that must wait for their turn are not replaced by ready ones
    const Count must_go = at_least_zero(exceeding - pending);
    step_.pause_ready = narrow(std::min(victims - std::min(must_go, victims), room_in_standby()));
    step_.remove_ready = take(victims - step_.pause_ready, may_remove_);
  }

  Count standby_after() const {
    return Count{pools_.standby} - step_.wake - step_.remove_standby + step_.pause_ready +
           pools_.making_standby - step_.keep_running;
  }

  Count room_in_standby() const { return at_least_zero(standby_.high - standby_after()); }

  void make_standby() {
    const Count room = policy_.maximum - all() - step_.create;
    step_.make_standby = take(std::min(standby_.low - standby_after(), room), may_create_);
  }

  const ScalingPolicy& policy_;
  const PoolSizes& pools_;
  Count free_;
  Count wanted_;
  Band standby_;
  Count may_create_;
  Count may_remove_;
  ScalingStep step_;
};

}  // namespace

FreeInstances free_instances(const ScalingPolicy& policy, std::uint32_t per_instance,
                             const PoolSizes& pools) {
  FreeInstances free;
  free.needed = needed_by_sessions(per_instance, pools);
  set_ends(policy, pools, free);
  free.wanted = std::clamp(free_now(pools), free.least, free.most);
  const Count least = at_least_zero(Count{policy.minimum} - pools.active);
  const Count most = at_least_zero(Count{policy.maximum} - pools.active);
  free.wanted = std::clamp(free.wanted, least, most);
  return free;
}

std::uint32_t surplus_of(const ScalingPolicy& policy, std::uint32_t per_instance,
                         const PoolSizes& pools) {
  return narrow(Scaler(policy, per_instance, pools).surplus());
}

ScalingStep scaling_step(const ScalingPolicy& policy, std::uint32_t per_instance,
                         const PoolSizes& pools, std::uint32_t removable) {
  return Scaler(policy, per_instance, pools).decide(removable);
}

void Surplus::see(Time now, std::uint32_t surplus) {
  Time since = now;
  while (!lows_.empty() && lows_.back().surplus >= surplus) {
    since = lows_.back().since;
    lows_.pop_back();
  }
  lows_.push_back({surplus, since});
}

void Surplus::forget_before(Time begin) {
  while (lows_.size() > 1 && lows_[1].since <= begin) lows_.pop_front();
}

std::uint32_t Surplus::least(Time now, Duration cooldown) {
  forget_before(now - cooldown);
  return lows_.front().surplus;
}

std::optional<Time> Surplus::grows_at(Time now, Duration cooldown) {
  forget_before(now - cooldown);
  if (lows_.size() == 1) return std::nullopt;
  return lows_[1].since + cooldown;
}

}  // namespace berth::model
