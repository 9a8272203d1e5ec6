#include <gtest/gtest.h>

#include <utility>

#include "base/random.h"
#include "model/scaling.h"

// What holds for every policy, whatever happens.
namespace berth::model {
namespace {

constexpr int kWorlds = 2000;
constexpr Duration kTick = 5s;

std::uint32_t draw(Random& random, std::uint32_t most) {
  return static_cast<std::uint32_t>(random.below(std::uint64_t{most} + 1));
}

Band a_band(Random& random, std::uint32_t most) {
  const std::uint32_t high = draw(random, most);
  return {draw(random, high), high};
}

ScalingPolicy a_policy(Random& random) {
  ScalingPolicy policy;
  policy.maximum = 1 + draw(random, 30);
  policy.minimum = draw(random, policy.maximum);
  policy.burst = random.below(5) == 0 ? std::nullopt : std::optional(1 + draw(random, 4));
  if (random.below(2) == 0) {
    policy.idle = a_band(random, 6);
  } else {
    policy.idle_percent = a_band(random, 99);
  }
  if (random.below(2) == 0) policy.standby = a_band(random, 4);
  policy.cooldown = random.below(2) * 30s;
  return policy;
}

PoolSizes some_pools(Random& random) {
  return {.active = draw(random, 12),
          .free_slots = draw(random, 2),
          .unplaced = draw(random, 4),
          .pending = draw(random, 4),
          .ready = draw(random, 12),
          .making_standby = draw(random, 2),
          .standby = draw(random, 4),
          .terminating = draw(random, 3),
          .waiting = draw(random, 6)};
}

std::uint32_t free_of(const PoolSizes& pools) {
  return pools.unplaced + pools.pending + pools.ready;
}
std::uint32_t all_of(const PoolSizes& pools) {
  return pools.active + free_of(pools) + pools.standby + pools.making_standby;
}

// An application whose instances do as they are told, while its sessions stay as they are.
class World {
 public:
  explicit World(std::uint64_t seed)
      : random_(seed),
        policy_(a_policy(random_)),
        per_instance_(1 + draw(random_, 2)),
        pools_(some_pools(random_)) {}

  // False: there was nothing to do.
  bool take_step() {
    surplus_.see(now_, surplus_of(policy_, per_instance_, pools_));
    const std::uint32_t removable = surplus_.least(now_, policy_.cooldown);
    const ScalingStep step = scaling_step(policy_, per_instance_, pools_, removable);
    check(step);
    perform(step);
    return step != ScalingStep{};
  }

  // All that is under way comes to its end.
  void pass_time() {
    now_ += kTick;
    pools_.ready += std::exchange(pools_.pending, std::exchange(pools_.unplaced, 0));
    pools_.standby += std::exchange(pools_.making_standby, 0);
    pools_.terminating = 0;
  }

  // Something happens to sessions.
  void change() {
    pools_.waiting = draw(random_, 6);
    const std::uint32_t bound = draw(random_, pools_.ready);
    pools_.ready -= bound;
    pools_.active += bound;
    const std::uint32_t freed = draw(random_, pools_.active);
    pools_.active -= freed;
    pools_.ready += freed;
    pools_.free_slots = draw(random_, pools_.active);
  }

  void check_rest() const {
    const auto free = free_instances(policy_, per_instance_, pools_);
    EXPECT_EQ(free.wanted, free_of(pools_));
    const std::uint32_t at_work = pools_.active + free_of(pools_);
    EXPECT_GE(at_work, policy_.minimum);
    const bool too_many_active = pools_.active > policy_.maximum;
    EXPECT_TRUE(too_many_active || all_of(pools_) <= policy_.maximum);
    const Band standby = policy_.standby.value_or(Band{});
    EXPECT_LE(pools_.standby, standby.high);
    const bool has_room = all_of(pools_) < policy_.maximum;
    EXPECT_TRUE(!has_room || pools_.standby >= standby.low);
  }

 private:
  void check(const ScalingStep& step) const {
    EXPECT_LE(step.remove_unplaced, pools_.unplaced);
    EXPECT_LE(step.remove_pending, pools_.pending);
    EXPECT_LE(step.remove_ready + step.pause_ready, pools_.ready) << "an active one is no victim";
    EXPECT_LE(step.wake + step.remove_standby, pools_.standby);
    EXPECT_LE(step.keep_running, pools_.making_standby);
    check_maximum(step);
    check_burst(step);
    EXPECT_TRUE(step.create == 0 || step.remove_ready + step.remove_pending == 0);
  }

  void check_maximum(const ScalingStep& step) const {
    const std::uint32_t made = step.create + step.make_standby;
    EXPECT_TRUE(made == 0 || all_of(pools_) + made <= policy_.maximum);
    const std::uint32_t removed = step.remove_unplaced + step.remove_pending + step.remove_ready;
    if (removed + step.pause_ready == 0) return;
    EXPECT_GE(pools_.active + free_of(pools_) - removed - step.pause_ready, policy_.minimum);
  }

  void check_burst(const ScalingStep& step) const {
    if (!policy_.burst) return;
    const std::uint32_t under_way = pools_.unplaced + pools_.pending + pools_.making_standby;
    const std::uint32_t made = step.create + step.make_standby;
    EXPECT_TRUE(made == 0 || under_way + made <= *policy_.burst);
    const std::uint32_t removed = step.remove_pending + step.remove_ready + step.remove_standby;
    EXPECT_TRUE(removed == 0 || pools_.terminating + removed <= *policy_.burst);
  }

  void perform(const ScalingStep& step) {
    pools_.unplaced += step.create - step.remove_unplaced;
    pools_.pending += step.keep_running - step.remove_pending;
    pools_.ready += step.wake - step.remove_ready - step.pause_ready;
    pools_.making_standby += step.make_standby - step.keep_running;
    pools_.standby += step.pause_ready - step.wake - step.remove_standby;
    pools_.terminating += step.remove_pending + step.remove_ready + step.remove_standby;
  }

  Random random_;
  ScalingPolicy policy_;
  std::uint32_t per_instance_;
  PoolSizes pools_;
  Surplus surplus_;
  Time now_ = Time(1000s);
};

// Long enough for all to go one by one, and for the cool-down.
bool comes_to_rest(World& world) {
  constexpr int kRounds = 100;
  constexpr int kQuiet = 10;
  int quiet = 0;
  for (int i = 0; i < kRounds; ++i) {
    quiet = world.take_step() ? 0 : quiet + 1;
    world.pass_time();
    if (quiet == kQuiet) return true;
  }
  return false;
}

TEST(ScalingProperties, EveryPolicyComesToRest) {
  for (std::uint64_t seed = 0; seed < kWorlds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    EXPECT_TRUE(comes_to_rest(world));
    world.check_rest();
  }
}

TEST(ScalingProperties, NoStepBreaksALimitWhateverHappens) {
  for (std::uint64_t seed = 0; seed < kWorlds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    for (int i = 0; i < 50; ++i) {
      world.take_step();
      world.change();
      world.pass_time();
    }
    EXPECT_TRUE(comes_to_rest(world));
    world.check_rest();
  }
}

}  // namespace
}  // namespace berth::model
