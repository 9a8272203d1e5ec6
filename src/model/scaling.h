#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.h"
#include "model/application.h"

// How many instances an application shall have: its scaling policy, as pure functions of the sizes
// of its pools. What they are for is in docs/adr/0050.
namespace berth::model {

// The instances of an application, each counted once, and what its sessions need.
struct PoolSizes {
  std::uint32_t active = 0;      // they have sessions
  std::uint32_t free_slots = 0;  // for further sessions, of the active ones together
  std::uint32_t unplaced = 0;    // pending, and without a node yet
  std::uint32_t pending = 0;     // on a node, and not running yet
  std::uint32_t ready = 0;
  std::uint32_t making_standby = 0;  // not running yet, and to be paused as soon as they are
  std::uint32_t standby = 0;
  std::uint32_t terminating = 0;
  std::uint32_t waiting = 0;  // sessions that have no instance yet

  friend bool operator==(const PoolSizes&, const PoolSizes&) = default;
};

// How many instances shall be pending or ready together. It is enough if it is between the two
// ends: what is there stays then.
struct FreeInstances {
  std::int64_t needed = 0;  // by waiting sessions
  std::int64_t least = 0;   // to be idle enough, whatever minimum and maximum say
  std::int64_t most = 0;
  std::int64_t wanted = 0;  // within minimum and maximum

  friend bool operator==(const FreeInstances&, const FreeInstances&) = default;
};

// REQUIRES: a policy as manifests may have it, per_instance > 0; here and below.
FreeInstances free_instances(const ScalingPolicy& policy, std::uint32_t per_instance,
                             const PoolSizes& pools);

// What is to be done now. It is safe to be asked again at any time: what is under way counts.
struct ScalingStep {
  std::uint32_t create = 0;
  std::uint32_t make_standby = 0;  // to be created too, and paused as soon as they run
  std::uint32_t wake = 0;          // of standby
  std::uint32_t keep_running = 0;  // of those that are made for standby: they are not paused
  std::uint32_t remove_unplaced = 0;
  std::uint32_t remove_pending = 0;
  std::uint32_t remove_ready = 0;  // the newest, as all below
  std::uint32_t pause_ready = 0;   // after those that are removed
  std::uint32_t remove_standby = 0;

  friend bool operator==(const ScalingStep&, const ScalingStep&) = default;
};

// How many of those that are placed are too many: what a Surplus is to be shown.
std::uint32_t surplus_of(const ScalingPolicy& policy, std::uint32_t per_instance,
                         const PoolSizes& pools);

// `removable`: how much of the surplus has lasted long enough. What has no place yet, what exceeds
// the maximum and what is too much of standby goes in any case.
ScalingStep scaling_step(const ScalingPolicy& policy, std::uint32_t per_instance,
                         const PoolSizes& pools, std::uint32_t removable);

// The cool-down: the least surplus that there was at any time of a while. It begins with none.
class Surplus {
 public:
  // What it is from now on. REQUIRES, as all others: time does not go back.
  void see(Time now, std::uint32_t surplus);

  std::uint32_t least(Time now, Duration cooldown);

  // When `least` grows if nothing else is seen; nullopt: never.
  std::optional<Time> grows_at(Time now, Duration cooldown);

 private:
  struct Low {
    std::uint32_t surplus = 0;
    Time since{};  // it has not been less
  };
  void forget_before(Time begin);

  // Both members ascend. The first counts also for the time before it.
  std::deque<Low> lows_{{0, Time{}}};
};

}  // namespace berth::model
