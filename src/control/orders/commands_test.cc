#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

using model::InstanceState;

class Commands : public testing::Test {
 protected:
  Commands() {
    driver.join("n1");
    driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  }

  void want_db() { driver.apply({a_service("db"), a_deployment("e", {a_run("db")})}); }
  FakeAgent& agent() { return driver.agent("n1"); }
  std::vector<model::Command> commands() const { return driver.commands_to("n1"); }

  Driver driver;
};

TEST_F(Commands, ANodeThatJoinsGetsAFullCommandThenPartialOnes) {
  Driver fresh;
  fresh.join("n1");
  ASSERT_EQ(fresh.commands_to("n1").size(), 1u);
  EXPECT_FALSE(fresh.commands_to("n1")[0].base);
  const model::CommandNumber first = fresh.commands_to("n1")[0].number;
  fresh.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  EXPECT_EQ(fresh.commands_to("n1").at(0).base, first);
}

TEST_F(Commands, APartialCommandNamesOnlyWhatChanges) {
  const model::CommandNumber before = agent().acted;
  want_db();
  ASSERT_EQ(commands().size(), 1u);
  EXPECT_EQ(commands()[0].base, before);
  ASSERT_EQ(commands()[0].run.size(), 1u);
  EXPECT_EQ(commands()[0].run[0].key, kDb);
  EXPECT_TRUE(commands()[0].stop.empty());
}

TEST_F(Commands, TheNumberOfACommandIsTheRevisionThatMakesItDurable) {
  want_db();
  EXPECT_EQ(driver.first().commands.at(0).command.number,
            (model::CommandNumber{1, driver.revision()}));
  EXPECT_EQ(driver.first().writes.back().table, table_of<model::CounterRecord>());
}

TEST_F(Commands, ATalkingNodeThatDoesNotActIsToldAgainAfterAWhileAndNotBefore) {
  agent().answers = false;
  want_db();
  const model::CommandNumber number = commands().at(0).number;
  driver.advance(2s);
  driver.heartbeat("n1");
  EXPECT_TRUE(commands().empty());
  driver.advance(1999ms);
  driver.heartbeat("n1");
  EXPECT_TRUE(commands().empty());
  driver.advance(1ms);
  driver.heartbeat("n1");
  ASSERT_EQ(commands().size(), 1u);
  EXPECT_FALSE(commands()[0].base) << "it may have missed what came before";
  EXPECT_EQ(commands()[0].number, number) << "a repeat is a no-op for who has acted";
  EXPECT_EQ(commands()[0].run.size(), 2u);
  EXPECT_TRUE(driver.noted(NoteKind::CommandResent, "node/n1"));
  EXPECT_TRUE(driver.effects().writes.empty());
}

TEST_F(Commands, ASilentNodeIsNotToldAgain) {
  agent().answers = false;
  want_db();
  driver.advance(30s);
  EXPECT_TRUE(commands().empty());
}

TEST_F(Commands, ANodeThatLagsIsHelpedAlsoWhileNewCommandsCome) {
  agent().answers = false;
  want_db();  // is lost
  bool got_a_full_one = false;
  for (int i = 0; i < 4; ++i) {
    driver.advance(2s);
    driver.heartbeat("n1");
    got_a_full_one |= !commands().empty() && !commands()[0].base;
    driver.apply({a_service("db").env("round", std::to_string(i))});
    got_a_full_one |= !commands().empty() && !commands()[0].base;
  }
  EXPECT_TRUE(got_a_full_one);
}

TEST_F(Commands, AnAgentInStepAfterAReconnectGetsNoCommand) {
  driver.connect("n1");
  EXPECT_TRUE(commands().empty());
}

TEST_F(Commands, AnAgentInStepIsToldWhatChangedWhileItWasAway) {
  want_db();
  driver.disconnect("n1");
  driver.erase("Deployment", "d");
  driver.apply({a_service("db").env("mode", "quiet")});
  EXPECT_TRUE(commands().empty());
  driver.connect("n1");
  ASSERT_EQ(commands().size(), 1u);
  EXPECT_TRUE(commands()[0].base) << "it has all the rest";
  EXPECT_EQ(commands()[0].stop, std::vector{kWeb});
  ASSERT_EQ(commands()[0].run.size(), 1u);
  EXPECT_EQ(commands()[0].run[0].key, kDb);
}

TEST_F(Commands, AnAgentThatMissedACommandGetsAFullOneWhenItReconnects) {
  agent().answers = false;
  want_db();
  agent().answers = true;
  driver.connect("n1");
  ASSERT_GE(commands().size(), 1u);
  EXPECT_FALSE(commands()[0].base);
  EXPECT_EQ(driver.status_of(kDb), "active");
  EXPECT_EQ(agent().starts.at(kWeb), 1);
}

TEST_F(Commands, AnAgentWithALostStoreIsToldEverythingAgain) {
  agent().lose_everything();
  driver.connect("n1");
  EXPECT_EQ(driver.status_of(kWeb), "active");
  EXPECT_EQ(agent().starts.at(kWeb), 2);
}

TEST_F(Commands, AnItemEditedUnderTheSameVersionReachesItsAgents) {
  driver.apply({a_service("web").env("mode", "quiet")});
  ASSERT_EQ(commands().size(), 1u);
  EXPECT_EQ(commands()[0].run.at(0).item.env.at("mode"), "quiet");
  EXPECT_EQ(agent().starts.at(kWeb), 2);
}

TEST_F(Commands, AnItemAppliedUnchangedReachesNobody) {
  driver.apply({a_service("web")});
  EXPECT_TRUE(driver.effects().commands.empty());
  EXPECT_TRUE(driver.effects().writes.empty());
}

TEST_F(Commands, APriorityReachesTheAgentAndRestartsNothing) {
  driver.apply({a_deployment("d", {a_run("web").priority(9)})});
  EXPECT_EQ(commands().at(0).run.at(0).priority, 9);
  EXPECT_EQ(agent().starts.at(kWeb), 1);
}

TEST_F(Commands, AnUnknownServiceIsStopped) {
  agent().find({.key = key_of("stray"), .runtime = model::RuntimeId{"crun"}});
  driver.report_changes("n1");
  EXPECT_EQ(commands().at(0).stop, std::vector{key_of("stray")});
  EXPECT_FALSE(driver.runs("n1", key_of("stray")));
}

TEST_F(Commands, AStopIsOrderedOnce) {
  agent().stops_slowly = true;
  driver.erase("Deployment", "d");
  EXPECT_EQ(commands().size(), 1u);
  driver.report_fully("n1");
  EXPECT_TRUE(commands().empty());
}

TEST_F(Commands, WhatIsWantedAgainWhileItStopsIsToldAgain) {
  agent().stops_slowly = true;
  driver.erase("Deployment", "d");
  driver.apply({a_deployment("d", {a_run("web")})});
  EXPECT_EQ(commands().at(0).run.at(0).key, kWeb);
  EXPECT_EQ(driver.status_of(kWeb), "active");
}

TEST_F(Commands, WhatWasRemovedWhileItsNodeWasSilentIsNotInALaterFullCommand) {
  agent().answers = false;
  want_db();
  driver.advance(5s);
  EXPECT_EQ(driver.liveness("n1"), Liveness::Unreachable);
  driver.erase("Deployment", "e");
  driver.erase("Item", "db@1");
  EXPECT_TRUE(driver.reply_to<Error>(driver.last_call())) << "it may be running there";
  driver.heartbeat("n1");  // back, and still behind
  for (const model::Command& command : commands()) {
    for (const model::InstanceSpec& spec : command.run) EXPECT_NE(spec.key, kDb);
  }
  agent().answers = true;
  driver.advance(10s);
  EXPECT_FALSE(driver.runs("n1", kDb));
}

TEST_F(Commands, ANodeThatWasForgottenInTheStepOfItsGapIsNotAsked) {
  model::Report gap = agent().changes();
  gap.revision += 5;
  const ConnectionId connection = driver.connection("n1");
  driver.tell({NodeReported{node_id("n1"), connection, gap},
               NodeDisconnected{node_id("n1"), connection}, ForgetNodeCall{99, node_id("n1")}});
  EXPECT_TRUE(driver.first().commands.empty());
}

}  // namespace
}  // namespace berth::control
