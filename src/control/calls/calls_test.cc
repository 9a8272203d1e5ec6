#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

class Calls : public testing::Test {
 protected:
  Calls() {
    driver.join("n1");
    driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
    before = driver.durable();
  }

  // The call was refused with this code, and nothing has changed.
  void expect_refused(CallId call, Code code) {
    const auto error = driver.reply_to<Error>(call);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code, code) << error->message;
    EXPECT_EQ(driver.durable(), before);
    EXPECT_TRUE(driver.effects().writes.empty() && driver.effects().commands.empty());
  }

  Driver driver;
  Durable before;
};

TEST_F(Calls, AnApplyIsTakenAsAWholeOrNotAtAll) {
  expect_refused(driver.apply({a_service("good"), a_deployment("bad", {a_run("unknown")})}),
                 Code::InvalidInput);
}

TEST_F(Calls, ADocumentMayReferToOneThatIsKnownAlready) {
  const CallId call = driver.apply({a_deployment("e", {a_run("web").subject("other")})});
  EXPECT_TRUE(driver.reply_to<Accepted>(call));
}

TEST_F(Calls, AnApplyThatContradictsWhatIsKnownIsRefused) {
  expect_refused(driver.apply({a_deployment("e", {a_run("web")})}), Code::InvalidInput);
}

TEST_F(Calls, NodeDocumentsAreRefused) {
  expect_refused(driver.apply({model::Node{.id = node_id("n9")}}), Code::InvalidInput);
}

TEST_F(Calls, MoreInstancesThanTheLimitAreRefused) {
  expect_refused(driver.apply({a_deployment("d", {a_run("web").times(1'000'001)})}),
                 Code::Exhausted);
}

TEST_F(Calls, AnApplyForAnotherRevisionIsAConflict) {
  const std::uint64_t revision = driver.revision();
  expect_refused(driver.apply({a_service("db")}, revision - 1), Code::Conflict);
  const CallId call = driver.apply({a_service("db")}, revision);
  EXPECT_TRUE(driver.reply_to<Accepted>(call));
}

TEST_F(Calls, OfTwoAppliesForTheSameRevisionInOneStepTheSecondIsAConflict) {
  const std::uint64_t revision = driver.revision();
  driver.tell({ApplyCall{101, {a_service("db")}, revision},
               ApplyCall{102, {a_service("cache")}, revision}});
  EXPECT_TRUE(driver.reply_to<Accepted>(101));
  EXPECT_EQ(driver.reply_to<Error>(102)->code, Code::Conflict);
  EXPECT_FALSE(driver.durable().items.contains({model::ItemId{"cache"}, "1"}));
}

TEST_F(Calls, AnItemThatIsAskedForCannotBeDeleted) {
  expect_refused(driver.erase("Item", "web@1"), Code::Conflict);
}

TEST_F(Calls, AnItemThatStillStopsCannotBeDeleted) {
  driver.agent("n1").stops_slowly = true;
  driver.erase("Deployment", "d");
  before = driver.durable();
  expect_refused(driver.erase("Item", "web@1"), Code::Conflict);
  driver.agent("n1").drop(kWeb);
  driver.report_changes("n1");
  driver.erase("Item", "web@1");
  EXPECT_TRUE(driver.durable().items.empty());
}

TEST_F(Calls, AnItemThatWaitsCannotBeDeletedEither) {
  driver.apply({a_service("db").cpu(5000), a_deployment("e", {a_run("db")})});
  before = driver.durable();
  expect_refused(driver.erase("Item", "db@1"), Code::InvalidInput);
}

TEST_F(Calls, WhatDoesNotExistCannotBeDeleted) {
  expect_refused(driver.erase("Item", "web"), Code::NotFound);
  expect_refused(driver.erase("Deployment", "e"), Code::NotFound);
  expect_refused(driver.erase("NodeConfig", "e"), Code::NotFound);
  expect_refused(driver.erase("Node", "n1"), Code::InvalidInput);
}

TEST_F(Calls, ANodeConfigIsInForceFromItsStepUntilItIsDeleted) {
  driver.apply({a_service("db"), a_deployment("e", {a_run("db").label("edge")})});
  EXPECT_EQ(driver.status_of(key_of("db")), "failed(NoMatchingLabels)");
  driver.apply({labels_of("n1", {"edge"})});
  EXPECT_EQ(driver.status_of(key_of("db")), "active");
  driver.erase("NodeConfig", "labels-n1");
  EXPECT_EQ(driver.status_of(key_of("db")), "failed(NoMatchingLabels)");
}

TEST_F(Calls, AnUnknownNodeCanNeitherBeCordonedNorForgotten) {
  expect_refused(driver.cordon("n9"), Code::NotFound);
  expect_refused(driver.forget("n9"), Code::NotFound);
}

TEST_F(Calls, AConnectedNodeCannotBeForgotten) {
  expect_refused(driver.forget("n1"), Code::Conflict);
}

TEST_F(Calls, WhatRanOnAForgottenNodeGoesElsewhere) {
  driver.join("n2");
  driver.disconnect("n1");
  const CallId call = driver.forget("n1");
  EXPECT_TRUE(driver.reply_to<Accepted>(call));
  EXPECT_TRUE(driver.noted(NoteKind::NodeForgotten, "node/n1"));
  EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
  EXPECT_FALSE(driver.durable().nodes.contains(node_id("n1")));
}

TEST_F(Calls, WhatWasPinnedToAForgottenNodeIsFreeToGoElsewhere) {
  driver.apply({a_service("db").pinned(), a_deployment("e", {a_run("db").on("n1").on("n2")})});
  driver.join("n2");
  EXPECT_EQ(driver.place_of(key_of("db")), "n1/crun");
  driver.disconnect("n1");
  driver.forget("n1");
  EXPECT_EQ(driver.place_of(key_of("db")), "n2/crun");
}

TEST_F(Calls, AForgottenNodeThatComesBackJoinsAnew) {
  driver.join("n2");
  driver.disconnect("n1");
  driver.forget("n1");
  driver.connect("n1");
  EXPECT_TRUE(driver.noted(NoteKind::NodeJoined, "node/n1"));
  EXPECT_FALSE(driver.runs("n1", kWeb));
  EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
}

}  // namespace
}  // namespace berth::control
