#include "agent/restart.h"

#include <gtest/gtest.h>

#include <limits>

namespace berth::agent {
namespace {

using model::RestartMode;

const Time kNow = Time{} + 10'000s;

std::vector<Duration> waits(const model::RestartPolicy& policy, int count) {
  Backoff backoff;
  std::vector<Duration> waits;
  for (int i = 0; i < count; ++i) {
    waits.push_back(backoff.next_wait(policy, std::nullopt, kNow));
  }
  return waits;
}

TEST(Backoff, DoublesUpToItsMaximum) {
  const std::vector<Duration> expected{1s, 2s, 4s, 8s, 10s, 10s};
  EXPECT_EQ(waits({RestartMode::Always, 1s, 10s}, 6), expected);
}

TEST(Backoff, NeverWaitsLongerThanItsMaximum) {
  EXPECT_EQ(waits({RestartMode::Always, 30s, 10s}, 2), (std::vector<Duration>{10s, 10s}));
}

TEST(Backoff, SurvivesHostileFigures) {
  const auto longest = waits({RestartMode::Always, Duration::max(), Duration::max()}, 3);
  EXPECT_GT(kNow + longest[2], kNow);
  EXPECT_EQ(waits({RestartMode::Always, Duration::min(), Duration::min()}, 2)[1], Duration::zero());
}

TEST(Backoff, BeginsAnewAfterBeingActiveForItsMaximum) {
  const model::RestartPolicy policy{RestartMode::Always, 1s, 10s};
  Backoff backoff;
  const auto after_active_for = [&](Duration active) {
    return backoff.next_wait(policy, kNow - active, kNow);
  };
  EXPECT_EQ(after_active_for(0s), 1s);
  EXPECT_EQ(after_active_for(9s), 2s);
  EXPECT_EQ(after_active_for(10s - 1us), 4s);
  EXPECT_EQ(after_active_for(10s), 1s);
}

TEST(RestartPolicy, AlwaysIsNeverDone) {
  EXPECT_FALSE(is_final(RestartMode::Always, {.cause = Cause::Exited, .exit_code = 0}));
  EXPECT_FALSE(is_final(RestartMode::Always, {.cause = Cause::StartFailed}));
}

TEST(RestartPolicy, OnFailureIsDoneWithSuccessOnly) {
  EXPECT_TRUE(is_final(RestartMode::OnFailure, {.cause = Cause::Exited, .exit_code = 0}));
  EXPECT_FALSE(is_final(RestartMode::OnFailure, {.cause = Cause::Exited, .exit_code = 1}));
  EXPECT_FALSE(is_final(RestartMode::OnFailure, {.cause = Cause::Vanished}));
  EXPECT_FALSE(is_final(RestartMode::OnFailure, {.cause = Cause::Unhealthy, .exit_code = 0}));
}

TEST(RestartPolicy, NeverIsDoneWithTheFirstRunButNotWithAStartNobodyAnswered) {
  EXPECT_TRUE(is_final(RestartMode::Never, {.cause = Cause::Exited, .exit_code = 0}));
  EXPECT_TRUE(is_final(RestartMode::Never, {.cause = Cause::Exited, .exit_code = 9}));
  EXPECT_TRUE(is_final(RestartMode::Never, {.cause = Cause::StartFailed}));
  EXPECT_FALSE(is_final(RestartMode::Never, {.cause = Cause::Unanswered}));
}

TEST(ToText, DurationsAreWrittenInTheLargestWholeUnit) {
  EXPECT_EQ(to_text(4s), "4s");
  EXPECT_EQ(to_text(90s), "90s");
  EXPECT_EQ(to_text(1500ms), "1500ms");
  EXPECT_EQ(to_text(7us), "7us");
}

}  // namespace
}  // namespace berth::agent
