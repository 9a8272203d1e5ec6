#include "sim/run.h"

#include <gtest/gtest.h>

#include "sim/report.h"

namespace berth::sim {
namespace {

class Seeds : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Seeds, Hold) {
  const Outcome outcome = simulate({.seed = GetParam(), .faulty = 300s});
  EXPECT_TRUE(outcome.violations.empty()) << failure_text(outcome);
}

INSTANTIATE_TEST_SUITE_P(Simulation, Seeds, ::testing::Range<std::uint64_t>(1, 21));

TEST(Simulation, TheSameSeedGivesTheSameTrace) {
  const Outcome outcome = simulate_twice({.seed = 7, .faulty = 120s});
  EXPECT_TRUE(outcome.violations.empty()) << failure_text(outcome);
}

TEST(Simulation, AnotherSeedGivesAnotherTrace) {
  EXPECT_NE(simulate({.seed = 1, .faulty = 30s}).hash, simulate({.seed = 2, .faulty = 30s}).hash);
}

TEST(Simulation, TheReplayCommandSaysAllThatMatters) {
  const Outcome outcome =
      simulate({.seed = 3, .faulty = 120s, .faults = {Fault::Loss, Fault::Crash}});
  EXPECT_EQ(outcome.replay, "berth-sim --seed 3 --nodes " + std::to_string(outcome.nodes) +
                                " --minutes 2 --faults loss,crash");
}

TEST(Simulation, TheNodeCountOfAReplayChangesNothing) {
  const Outcome drawn = simulate({.seed = 5, .faulty = 60s});
  const Outcome given = simulate({.seed = 5, .nodes = drawn.nodes, .faulty = 60s});
  EXPECT_EQ(drawn.hash, given.hash);
}

TEST(Simulation, ACalmUnitTakesNoHarm) {
  const Outcome outcome = simulate_calm_unit(60s);
  EXPECT_TRUE(outcome.violations.empty()) << failure_text(outcome);
  EXPECT_EQ(outcome.nodes, 16U);
  EXPECT_EQ(outcome.counts.lost, 0U);
}

}  // namespace
}  // namespace berth::sim
