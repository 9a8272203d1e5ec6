#include "model/scaling.h"

#include <gtest/gtest.h>

namespace berth::model {
namespace {

constexpr std::uint32_t kAny = 1'000'000;  // everything that is too much has been so long enough

struct Limits {
  std::uint32_t minimum = 0;
  std::uint32_t maximum = 100;
  std::optional<std::uint32_t> burst = 10;
};

ScalingPolicy by_number(Limits limits, Band idle) {
  ScalingPolicy policy;
  policy.minimum = limits.minimum;
  policy.maximum = limits.maximum;
  policy.burst = limits.burst;
  policy.idle = idle;
  return policy;
}

ScalingPolicy by_percent(Limits limits, Band idle) {
  ScalingPolicy policy = by_number(limits, {});
  policy.idle.reset();
  policy.idle_percent = idle;
  return policy;
}

ScalingPolicy with_standby(ScalingPolicy policy, Band standby) {
  policy.standby = standby;
  return policy;
}

ScalingStep step(const ScalingPolicy& policy, const PoolSizes& pools,
                 std::uint32_t removable = kAny) {
  return scaling_step(policy, 1, pools, removable);
}

std::int64_t wanted(const ScalingPolicy& policy, const PoolSizes& pools,
                    std::uint32_t per_instance = 1) {
  return free_instances(policy, per_instance, pools).wanted;
}

TEST(ScalingByNumber, FillsUpToTheLowEnd) {
  const auto policy = by_number({0, 100, 10}, {2, 5});
  const PoolSizes pools{.active = 3, .ready = 4, .waiting = 3};
  EXPECT_EQ(wanted(policy, pools), 5);
  EXPECT_EQ(step(policy, pools), (ScalingStep{.create = 1}));
}

TEST(ScalingByNumber, LeavesWhatIsBetweenTheEnds) {
  const auto policy = by_number({}, {2, 5});
  for (std::uint32_t ready = 2; ready <= 5; ++ready) {
    EXPECT_EQ(wanted(policy, {.active = 1, .ready = ready}), ready);
    EXPECT_EQ(step(policy, {.active = 1, .ready = ready}), ScalingStep{});
  }
  EXPECT_EQ(wanted(policy, {.ready = 9}), 5);
  EXPECT_EQ(wanted(policy, {.ready = 9, .waiting = 2}), 7);
}

TEST(ScalingByNumber, WithoutABandKeepsWhatSessionsNeed) {
  ScalingPolicy policy;
  policy.maximum = 10;
  EXPECT_EQ(wanted(policy, {.ready = 4}), 0);
  EXPECT_EQ(wanted(policy, {.waiting = 3}), 3);
}

TEST(ScalingLimits, TheMaximumCountsActiveOnes) {
  const auto policy = by_number({0, 10, 10}, {2, 5});
  EXPECT_EQ(step(policy, {.active = 9, .waiting = 3}), (ScalingStep{.create = 1}));
  EXPECT_EQ(step(policy, {.active = 12, .waiting = 3}), ScalingStep{}) << "active ones stay";
}

TEST(ScalingLimits, TheMinimumIsReachedInBursts) {
  const auto policy = by_number({10, 500'000, 5}, {0, 0});
  EXPECT_EQ(step(policy, {}), (ScalingStep{.create = 5}));
  EXPECT_EQ(step(policy, {.pending = 5}), ScalingStep{});
  EXPECT_EQ(step(policy, {.pending = 2, .ready = 3}), (ScalingStep{.create = 3}));
  EXPECT_EQ(step(policy, {.ready = 5}), (ScalingStep{.create = 5}));
  EXPECT_EQ(step(policy, {.ready = 10}), ScalingStep{});
  EXPECT_EQ(step(by_number({10, 20, std::nullopt}, {0, 0}), {}), (ScalingStep{.create = 10}));
}

TEST(ScalingLimits, TheBurstHoldsForRemovingToo) {
  const auto policy = by_number({1, 30, 1}, {0, 3});
  EXPECT_EQ(step(policy, {.ready = 5}), (ScalingStep{.remove_ready = 1}));
  EXPECT_EQ(step(policy, {.ready = 4, .terminating = 1}), ScalingStep{});
  EXPECT_EQ(step(policy, {.ready = 4}), (ScalingStep{.remove_ready = 1}));
  EXPECT_EQ(step(policy, {.ready = 3}), ScalingStep{});
}

TEST(ScalingByPercent, KeepsOneOfTenThatNobodyUses) {
  const auto policy = by_percent({}, {20, 50});
  EXPECT_EQ(wanted(policy, {.ready = 10}), 1);
  EXPECT_EQ(step(policy, {.ready = 10}), (ScalingStep{.remove_ready = 9}));
  EXPECT_EQ(step(policy, {.ready = 1}), ScalingStep{});
  EXPECT_EQ(step(policy, {}), (ScalingStep{.create = 1})) << "so that it rests";
  EXPECT_EQ(wanted(by_percent({}, {0, 50}), {.ready = 10}), 0);
}

TEST(ScalingByPercent, IsOfAllInstances) {
  const auto policy = by_percent({0, 1000, 100}, {20, 50});
  EXPECT_EQ(wanted(policy, {.active = 8}), 2) << "2 of 10";
  EXPECT_EQ(wanted(policy, {.active = 8, .ready = 8}), 8) << "8 of 16";
  EXPECT_EQ(wanted(policy, {.active = 8, .ready = 9}), 8);
  EXPECT_EQ(wanted(policy, {.active = 8, .ready = 2, .waiting = 2}), 5) << "3 of 13";
  EXPECT_EQ(wanted(policy, {.active = 9}), 3) << "2 of 11 is less than 20 percent";
}

TEST(ScalingByPercent, RatherHasTooManyThanTooFew) {
  const auto policy = by_percent({}, {50, 50});
  EXPECT_EQ(wanted(policy, {.active = 1, .ready = 5}), 1);
  const auto narrow = by_percent({}, {40, 45});
  EXPECT_EQ(wanted(narrow, {.active = 1, .ready = 5}), 1) << "0 is too few, 1 of 2 is too many";
  EXPECT_EQ(wanted(narrow, {.active = 1, .ready = 1}), 1) << "and there it rests";
}

TEST(ScalingBySlots, CountsInstancesForWhatFindsNoSlot) {
  const auto policy = by_number({}, {1, 1});
  EXPECT_EQ(wanted(policy, {.active = 2, .free_slots = 3, .waiting = 3}, 4), 1);
  EXPECT_EQ(wanted(policy, {.active = 2, .free_slots = 3, .waiting = 4}, 4), 2);
  EXPECT_EQ(wanted(policy, {.active = 2, .free_slots = 3, .waiting = 8}, 4), 3);
}

TEST(ScalingVictims, GoInTheirOrder) {
  const auto policy = by_number({0, 100, 3}, {0, 2});
  const PoolSizes pools{.unplaced = 4, .pending = 2, .ready = 3};
  EXPECT_EQ(step(policy, pools),
            (ScalingStep{.remove_unplaced = 4, .remove_pending = 2, .remove_ready = 1}));
  EXPECT_EQ(step(policy, {.unplaced = 2, .ready = 1}), (ScalingStep{.remove_unplaced = 1}));
}

TEST(ScalingVictims, WithoutAPlaceGoAtOnceAndFreeOfBurst) {
  const auto policy = by_number({0, 100, 1}, {0, 0});
  EXPECT_EQ(step(policy, {.unplaced = 4, .ready = 1, .terminating = 1}, 0),
            (ScalingStep{.remove_unplaced = 4}));
}

TEST(ScalingVictims, OnlyWhatIsRemovableGoes) {
  const auto policy = by_number({}, {0, 0});
  EXPECT_EQ(surplus_of(policy, 1, {.unplaced = 3, .ready = 5}), 5u);
  EXPECT_EQ(step(policy, {.ready = 5}, 0), ScalingStep{});
  EXPECT_EQ(step(policy, {.ready = 5}, 2), (ScalingStep{.remove_ready = 2}));
}

TEST(ScalingVictims, WhatExceedsTheMaximumGoesAtOnce) {
  const auto policy = by_number({0, 6, 10}, {0, 100});
  EXPECT_EQ(step(policy, {.active = 4, .ready = 5}, 0), (ScalingStep{.remove_ready = 3}));
  EXPECT_EQ(step(policy, {.active = 7, .ready = 2}, 0), (ScalingStep{.remove_ready = 2}));
}

TEST(ScalingStandby, IsWokenBeforeAnythingIsCreated) {
  const auto policy = with_standby(by_number({}, {2, 5}), {0, 3});
  EXPECT_EQ(step(policy, {.standby = 3}), (ScalingStep{.wake = 2}));
  EXPECT_EQ(step(policy, {.standby = 1}), (ScalingStep{.create = 1, .wake = 1}));
}

TEST(ScalingStandby, IsMadeUpToItsLowEnd) {
  const auto policy = with_standby(by_number({}, {1, 3}), {2, 3});
  EXPECT_EQ(step(policy, {.ready = 2}), (ScalingStep{.make_standby = 2}));
  EXPECT_EQ(step(policy, {.ready = 2, .making_standby = 1, .standby = 1}), ScalingStep{});
  EXPECT_EQ(step(policy, {.making_standby = 1, .standby = 1}),
            (ScalingStep{.make_standby = 1, .wake = 1}));
  EXPECT_EQ(step(policy, {.making_standby = 2}),
            (ScalingStep{.make_standby = 1, .keep_running = 1}))
      << "needed at once";
}

TEST(ScalingStandby, TakesReadyVictimsUpToItsHighEnd) {
  const auto policy = with_standby(by_number({0, 100, 1}, {0, 1}), {0, 2});
  EXPECT_EQ(step(policy, {.ready = 5}), (ScalingStep{.remove_ready = 1, .pause_ready = 2}));
  EXPECT_EQ(step(policy, {.ready = 3, .terminating = 1}), (ScalingStep{.pause_ready = 2}));
  EXPECT_EQ(step(policy, {.ready = 5}, 0), ScalingStep{}) << "only after the cool-down";
}

TEST(ScalingStandby, GoesWhenThereIsTooMuchOfIt) {
  const auto policy = with_standby(by_number({}, {0, 0}), {0, 2});
  EXPECT_EQ(step(policy, {.standby = 5}, 0), (ScalingStep{.remove_standby = 3}));
  EXPECT_EQ(step(by_number({}, {0, 0}), {.standby = 2}, 0), (ScalingStep{.remove_standby = 2}));
}

TEST(ScalingStandby, GoesFirstWhenTheMaximumIsExceeded) {
  const auto policy = with_standby(by_number({0, 5, 10}, {0, 9}), {1, 3});
  EXPECT_EQ(step(policy, {.active = 2, .ready = 2, .standby = 3}, 0),
            (ScalingStep{.remove_standby = 2}));
  EXPECT_EQ(step(policy, {.active = 2, .ready = 5, .standby = 3}, 0),
            (ScalingStep{.remove_ready = 2, .remove_standby = 3}));
  EXPECT_EQ(step(policy, {.active = 2, .ready = 3}, 0), ScalingStep{}) << "no room for standby";
}

TEST(ScalingStandby, ThatIsBeingMadeIsAVictimWhenTheMaximumIsExceeded) {
  const auto policy = with_standby(by_number({0, 2, 10}, {0, 0}), {2, 3});
  EXPECT_EQ(step(policy, {.active = 2, .making_standby = 2}, 0), (ScalingStep{.keep_running = 2}));
}

class Cooldown : public testing::Test {
 protected:
  std::uint32_t least_at(Duration since_zero) { return surplus_.least(Time(since_zero), 30s); }
  void see(Duration since_zero, std::uint32_t surplus) { surplus_.see(Time(since_zero), surplus); }

  Surplus surplus_;
};

TEST_F(Cooldown, ASurplusCountsWhenItHasLasted) {
  see(100s, 3);
  EXPECT_EQ(least_at(129s), 0u);
  EXPECT_EQ(surplus_.grows_at(Time(129s), 30s), Time(130s));
  EXPECT_EQ(least_at(130s), 3u);
  EXPECT_EQ(surplus_.grows_at(Time(130s), 30s), std::nullopt);
}

TEST_F(Cooldown, TheLeastOfTheTimeCounts) {
  see(100s, 3);
  see(110s, 1);
  see(111s, 5);
  EXPECT_EQ(least_at(130s), 1u);
  EXPECT_EQ(least_at(140s), 1u);
  EXPECT_EQ(least_at(141s), 5u);
}

TEST_F(Cooldown, WhatWasMoreInBetweenDoesNotDelay) {
  see(100s, 1);
  see(110s, 5);
  see(120s, 3);
  EXPECT_EQ(least_at(139s), 1u);
  EXPECT_EQ(least_at(140s), 3u) << "it has not been less since 110 s";
}

TEST_F(Cooldown, FurtherStepsNeedNoNewWait) {
  see(100s, 2);
  EXPECT_EQ(least_at(130s), 2u);
  see(130s, 1);  // one was removed
  EXPECT_EQ(least_at(131s), 1u);
}

TEST_F(Cooldown, BeginsAnewWhenThereIsNoSurplus) {
  see(100s, 2);
  see(125s, 0);
  see(126s, 2);
  EXPECT_EQ(least_at(150s), 0u);
  EXPECT_EQ(least_at(156s), 2u);
}

TEST_F(Cooldown, OfNoTimeIsOverAtOnce) {
  see(100s, 2);
  EXPECT_EQ(surplus_.least(Time(100s), 0s), 2u);
}

}  // namespace
}  // namespace berth::model
