#include "sim/flapping.h"

#include <gtest/gtest.h>

#include "sim/report.h"

namespace berth::sim {
namespace {

// A week of it is run by ./test with the program itself, which is faster.
TEST(Flapping, MisplacesNothingAndTellsNoMoreThanThereIs) {
  const Outcome outcome = simulate_flapping({.seed = 1, .nodes = 12, .faulty = 120min});
  EXPECT_TRUE(outcome.violations.empty()) << failure_text(outcome);
}

TEST(Flapping, IsTheSameEachTime) {
  const sim::Setup setup{.seed = 2, .nodes = 4, .faulty = 20min};
  EXPECT_EQ(simulate_flapping(setup).hash, simulate_flapping(setup).hash);
}

}  // namespace
}  // namespace berth::sim
