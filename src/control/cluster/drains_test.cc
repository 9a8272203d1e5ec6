#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

// "a" runs on n1, since n2 came later.
class DrainOfANode : public testing::Test {
 protected:
  DrainOfANode() {
    driver.join("n1");
    driver.apply({a_service("a").cpu(800), a_deployment("d", {a_run("a")})});
  }

  Driver driver;
};

TEST_F(DrainOfANode, MovesWhatRunsThereMakeBeforeBreakAndIsDoneWhenNothingIsLeft) {
  driver.join("n2");
  driver.agent("n1").stops_slowly = true;
  driver.drain("n1");
  EXPECT_EQ(driver.status_of(kA), "active");
  EXPECT_EQ(driver.place_of(kA), "n2/crun");
  EXPECT_FALSE(driver.noted(NoteKind::NodeDrained, "node/n1")) << "the old copy is still stopping";

  driver.agent("n1").drop(kA);
  driver.report_changes("n1");
  EXPECT_TRUE(driver.noted(NoteKind::NodeDrained, "node/n1"));
}

TEST_F(DrainOfANode, DoesNotStartAgainElsewhereWhatHasDoneItsWork) {
  driver.join("n2");
  driver.agent("n1").finish(kA);
  driver.report_changes("n1");
  driver.drain("n1");
  EXPECT_EQ(driver.agent("n2").starts[kA], 0);
  EXPECT_EQ(driver.place_of(kA), "n1/crun");
  EXPECT_EQ(driver.status_of(kA), "inactive");
  EXPECT_TRUE(driver.noted(NoteKind::NodeDrained, "node/n1"));
}

TEST_F(DrainOfANode, LeavesWhatFindsNoOtherPlaceAndMovesItTheMomentItDoes) {
  driver.drain("n1");
  EXPECT_EQ(driver.status_of(kA), "active");
  EXPECT_EQ(driver.place_of(kA), "n1/crun");
  driver.join("n2");
  EXPECT_EQ(driver.place_of(kA), "n2/crun");
  EXPECT_EQ(driver.agent("n2").starts[kA], 1);
}

TEST_F(DrainOfANode, StopsWhatIsLeftExactlyAtTheDeadline) {
  driver.drain("n1", 10s);
  driver.advance(10s - 1us);
  EXPECT_TRUE(driver.runs("n1", kA));
  driver.advance(1us);
  EXPECT_FALSE(driver.runs("n1", kA));
  EXPECT_TRUE(driver.durable().nodes.at(node_id("n1")).drain->overdue);
}

TEST_F(DrainOfANode, LeavesWhatDoesNotComeUpOnTheOnlyOtherNodeAndTriesThatAgainLater) {
  driver.join("n2");
  driver.agent("n2").starts_slowly = true;
  driver.drain("n1");
  driver.set("n2", kA, model::InstanceState::Failed, {"StartFailed", "no"});
  EXPECT_EQ(driver.place_of(kA), "n1/crun");
  EXPECT_EQ(driver.status_of(kA), "active");
  EXPECT_FALSE(driver.runs("n2", kA));
  driver.advance(600s - 1us);
  EXPECT_EQ(driver.place_of(kA), "n1/crun");
  driver.advance(1us);
  EXPECT_EQ(driver.place_of(kA), "n2/crun");
  EXPECT_TRUE(driver.runs("n1", kA));
  EXPECT_EQ(driver.agent("n1").starts[kA], 1);
}

TEST_F(DrainOfANode, TriesANodeWhereItFailedAgainWhenItHasNoOtherPlace) {
  driver.join("n2");
  driver.agent("n2").starts_slowly = true;
  driver.drain("n1", 10s);
  driver.set("n2", kA, model::InstanceState::Failed, {"StartFailed", "no such file"});
  ASSERT_EQ(driver.place_of(kA), "n1/crun");
  driver.advance(10s);
  EXPECT_EQ(driver.place_of(kA), "n2/crun");
  EXPECT_FALSE(driver.runs("n1", kA));
  EXPECT_TRUE(driver.runs("n2", kA));
}

TEST_F(DrainOfANode, TriesANodeWhereItFailedAgainWhenSomebodyAsksAgain) {
  driver.join("n2");
  driver.agent("n2").starts_slowly = true;
  driver.drain("n1");
  driver.set("n2", kA, model::InstanceState::Failed, {"StartFailed", "no"});
  ASSERT_EQ(driver.place_of(kA), "n1/crun");
  driver.apply({a_deployment("d", {a_run("a")})});
  EXPECT_EQ(driver.place_of(kA), "n2/crun");
}

TEST_F(DrainOfANode, StopsAlsoWhatMovedSomewhereAndNeverCameUpThere) {
  driver.join("n2");
  driver.agent("n2").starts_slowly = true;
  driver.drain("n1", 10s);
  driver.agent("n2").set(kA, model::InstanceState::Failed, {"StartFailed", "no"});
  driver.report_changes("n2");
  EXPECT_TRUE(driver.runs("n1", kA)) << "make before break";
  driver.advance(10s);
  EXPECT_FALSE(driver.runs("n1", kA));
  EXPECT_TRUE(driver.noted(NoteKind::NodeDrained, "node/n1"));
}

TEST_F(DrainOfANode, KeepsItsDeadlineOverARestartOfTheController) {
  driver.drain("n1", 60s);
  driver.advance(50s);
  driver.stop();
  driver.restart(10min);  // in which nothing could move
  driver.connect("n1");
  driver.advance(9s);
  EXPECT_TRUE(driver.runs("n1", kA));
  driver.advance(1s);
  EXPECT_FALSE(driver.runs("n1", kA));
}

TEST_F(DrainOfANode, WritesItsDeadlineDownWithOtherThings) {
  driver.drain("n1", 60s);
  driver.advance(20s);
  EXPECT_EQ(driver.durable().nodes.at(node_id("n1")).drain->deadline, 60s) << "idle, no writing";
  driver.apply({a_service("other")});
  EXPECT_EQ(driver.durable().nodes.at(node_id("n1")).drain->deadline, 40s);
}

TEST_F(DrainOfANode, CountsItsDeadlineFromWhatWasWrittenAfterACrashOfTheController) {
  driver.drain("n1", 10s);
  driver.advance(6s);
  driver.restart();
  driver.connect("n1");
  driver.advance(6s);
  EXPECT_TRUE(driver.runs("n1", kA));
  driver.advance(4s);
  EXPECT_FALSE(driver.runs("n1", kA));
}

TEST_F(DrainOfANode, IsEndedByUncordoning) {
  driver.drain("n1", 10s);
  driver.cordon("n1", Scheduling::Allowed);
  driver.advance(20s);
  EXPECT_TRUE(driver.runs("n1", kA));
  EXPECT_FALSE(driver.durable().nodes.at(node_id("n1")).drain);
}

TEST_F(DrainOfANode, MovesAlsoWhatIsPinned) {
  driver.apply({a_service("p").cpu(100).pinned(), a_deployment("e", {a_run("p")})});
  EXPECT_EQ(driver.place_of(key_of("p")), "n1/crun");
  driver.join("n2");
  driver.drain("n1");
  EXPECT_EQ(driver.place_of(key_of("p")), "n2/crun");
}

TEST_F(DrainOfANode, OfAnUnknownNodeIsRefused) {
  const CallId call = driver.drain("n9");
  EXPECT_TRUE(driver.reply_to<Error>(call));
}

}  // namespace
}  // namespace berth::control
