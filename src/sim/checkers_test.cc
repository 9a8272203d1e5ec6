#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/report.h"
#include "sim/run.h"

// Each checker must find the fault that is planted for it; one that finds nothing checks nothing.
namespace berth::sim {
namespace {

using ::testing::Contains;

struct Planted {
  Sabotage sabotage = Sabotage::None;
  Faults faults;
  std::uint64_t seeds = 5;
  Sessions sessions = Sessions::No;
};

std::set<std::string> violated_checkers(const Planted& planted) {
  std::set<std::string> names;
  for (std::uint64_t seed = 1; seed <= planted.seeds; ++seed) {
    const Outcome outcome = simulate({.seed = seed,
                                      .nodes = 4,
                                      .faulty = 180s,
                                      .faults = planted.faults,
                                      .sabotage = planted.sabotage,
                                      .sessions = planted.sessions});
    for (const Violation& violation : outcome.violations) names.insert(violation.checker);
  }
  return names;
}

// Some checks need a rare occasion: the first seed that has it ends the search.
bool says(const Planted& planted, std::string_view text) {
  for (std::uint64_t seed = 1; seed <= planted.seeds; ++seed) {
    const Outcome outcome = simulate({.seed = seed,
                                      .nodes = 4,
                                      .faulty = 600s,
                                      .faults = {},
                                      .sabotage = planted.sabotage,
                                      .sessions = planted.sessions});
    for (const Violation& violation : outcome.violations) {
      if (violation.what.find(text) != std::string::npos) return true;
    }
  }
  return false;
}

TEST(Checkers, FindNothingWhereNothingIsPlanted) {
  EXPECT_EQ(violated_checkers({}), std::set<std::string>{});
  EXPECT_EQ(violated_checkers({.sessions = Sessions::Yes}), std::set<std::string>{});
}

TEST(CapacityChecker, FindsNodesThatAreGivenMoreThanTheyHave) {
  EXPECT_THAT(violated_checkers({Sabotage::Boast, {}}), Contains("capacity"));
}

TEST(SingleOwnerChecker, FindsTwinUids) {
  EXPECT_THAT(violated_checkers({Sabotage::TwinUid, {Fault::Crash}}), Contains("single owner"));
}

TEST(NetworkChecker, FindsTwinAddresses) {
  EXPECT_THAT(violated_checkers({Sabotage::TwinAddress, {Fault::Crash}}), Contains("network"));
}

TEST(NetworkChecker, FindsNetworksThatAreNeverSetUp) {
  EXPECT_THAT(violated_checkers({Sabotage::DropNetworks, {}}), Contains("network"));
}

TEST(SingleCopyChecker, FindsRuntimesThatStartTwoCopies) {
  EXPECT_THAT(violated_checkers({Sabotage::StartTwice, {}}), Contains("single copy"));
}

TEST(DurableChecker, FindsCommitsThatWereSkipped) {
  EXPECT_THAT(violated_checkers({Sabotage::SkipCommits, {Fault::Crash}}), Contains("durable"));
}

TEST(DurableChecker, FindsAnAgentThatForgot) {
  EXPECT_THAT(violated_checkers({Sabotage::ForgetOnRestart, {Fault::Crash}}), Contains("durable"));
}

TEST(StatusTruthChecker, FindsRunsThatAreOnlyClaimed) {
  EXPECT_THAT(violated_checkers({Sabotage::LieForever, {}}), Contains("status truth"));
}

TEST(ConvergenceChecker, FindsStartsThatAreNeverCarriedOut) {
  EXPECT_THAT(violated_checkers({Sabotage::DropStarts, {}}), Contains("convergence"));
}

TEST(ConvergenceChecker, FindsStopsThatAreNeverCarriedOut) {
  // Mostly another one finds them first: a move that is never finished.
  EXPECT_THAT(violated_checkers({Sabotage::DropStops, {}, 40}), Contains("convergence"));
}

TEST(WaitingChecker, FindsRoomThatIsNotUsed) {
  EXPECT_THAT(violated_checkers({Sabotage::Understate, {}}), Contains("waiting"));
}

TEST(NeedlessStopChecker, FindsAHealthyRunBeingStopped) {
  EXPECT_THAT(violated_checkers({Sabotage::StopHealthy, {}}), Contains("needless stop"));
}

TEST(AnswerChecker, FindsRepliesThatAreNeverSent) {
  EXPECT_THAT(violated_checkers({Sabotage::DropReplies, {}}), Contains("answer"));
}

TEST(HoldChecker, FindsOrdersOfOneThatHasLostItsStore) {
  EXPECT_THAT(violated_checkers({Sabotage::OrderWhileHeld, {Fault::LostStore}, 20}),
              Contains("hold"));
}

TEST(SameTrace, FindsADelayThatTheSeedKnowsNothingOf) {
  const Outcome outcome =
      simulate_twice({.seed = 1, .faulty = 60s, .sabotage = Sabotage::UnseededDelay});
  ASSERT_EQ(outcome.violations.size(), 1U) << failure_text(outcome);
  EXPECT_EQ(outcome.violations.front().checker, "same trace");
}

TEST(StateChecker, FindsStatesThatWereLeftBehind) {
  EXPECT_THAT(violated_checkers({Sabotage::LoseStates, {Fault::Crash, Fault::Partition}, 20}),
              Contains("state"));
}

TEST(StateChecker, FindsLastWordsThatWereLost) {
  EXPECT_TRUE(says({Sabotage::LoseLastStates, {}, 100}, "where it was stopped for that"));
}

TEST(ReadinessChecker, FindsWhatIsPlacedOnARuntimeThatIsNotReady) {
  EXPECT_THAT(violated_checkers({Sabotage::Misplace, {Fault::Readiness}, 10}),
              Contains("readiness"));
}

TEST(SessionTruthChecker, FindsEndpointsThatAreOnlyClaimed) {
  EXPECT_THAT(violated_checkers({Sabotage::ClaimEndpoints, {}, 5, Sessions::Yes}),
              Contains("session truth"));
}

TEST(SessionPortChecker, FindsPortsThatAreGivenTwice) {
  EXPECT_THAT(violated_checkers({Sabotage::TwinPorts, {}, 10, Sessions::Yes}),
              Contains("session ports"));
}

TEST(SessionOrderChecker, FindsCallersWhoAreServedBeforeOthers) {
  EXPECT_THAT(violated_checkers({Sabotage::DelayCalls, {}, 10, Sessions::Yes}),
              Contains("session order"));
}

TEST(SessionAnswerChecker, FindsCallersWhoNeverHearAnything) {
  EXPECT_THAT(violated_checkers({Sabotage::DropSessionReplies, {}, 5, Sessions::Yes}),
              Contains("session answer"));
}

TEST(PoolNumberChecker, FindsNumbersThatAreUsedTwice) {
  EXPECT_THAT(violated_checkers({Sabotage::ReuseNumbers, {Fault::Crash}, 20, Sessions::Yes}),
              Contains("pool numbers"));
}

TEST(PoolsAtRest, FindEndpointsThatAreLeftOpen) {
  EXPECT_TRUE(says({Sabotage::LeaveEndpoints, {}, 20, Sessions::Yes}, "which is no session there"));
}

TEST(PoolsAtRest, FindWhatInstancesLeaveBehind) {
  EXPECT_TRUE(says({Sabotage::LeaveFurniture, {}, 20, Sessions::Yes}, "furnished"));
}

}  // namespace
}  // namespace berth::sim
