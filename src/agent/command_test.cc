#include <gtest/gtest.h>

#include "agent/driver.h"

// Which commands are carried out, and what they change.
namespace berth::agent {
namespace {

using model::InstanceState;
using model::ItemType;
using Items = std::vector<std::string>;

TEST(Command, IsDurableInOneBatchBeforeItIsActedOn) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_spec("a"), a_spec("b")}));
  const auto& writes = driver.effects().writes;
  ASSERT_EQ(writes.size(), 3U);
  EXPECT_EQ(std::get<WriteWanted>(writes[0]).record->generation, number(1));
  EXPECT_EQ(std::get<WriteWanted>(writes[1]).key, key_of("b"));
  EXPECT_EQ(std::get<WriteActed>(writes[2]).acted, number(1));
  EXPECT_EQ(driver.started_items(), (Items{"a", "b"}));
  EXPECT_TRUE(driver.noted("command 1.1 carried out"));
}

TEST(Command, ARepeatDoesNothingButIsAnswered) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_full_command(1, {}));
  EXPECT_TRUE(driver.effects().writes.empty());
  EXPECT_TRUE(driver.effects().actions.empty());
  EXPECT_TRUE(model::is_heartbeat(driver.report()));
  EXPECT_EQ(driver.report().acted, number(1));
  EXPECT_TRUE(driver.noted("ignored"));
}

TEST(Command, AnOlderEpochIsIgnored) {
  Driver driver = a_driver();
  auto newer = a_full_command(1, {a_spec("web")});
  newer.command.number.epoch = 5;
  driver.tell(newer);
  driver.tell(a_full_command(99, {}));
  EXPECT_TRUE(driver.effects().writes.empty());
  EXPECT_EQ(driver.report().acted, (model::CommandNumber{5, 1}));
}

TEST(Command, APartialOneOnAnotherBaseIsNotCarriedOutAndAnswered) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_partial_command(5, {}, {key_of("web")}));
  EXPECT_TRUE(driver.effects().writes.empty());
  EXPECT_TRUE(driver.effects().actions.empty());
  EXPECT_TRUE(model::is_heartbeat(driver.report()));
  EXPECT_EQ(driver.report().acted, number(1));
}

TEST(Command, APartialOneChangesOnlyWhatItNames) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_partial_command(2, {a_spec("db")}));
  EXPECT_EQ(driver.started_items(), Items{"db"});
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_FALSE(driver.report().full);
  EXPECT_EQ(driver.report().acted, number(2));
  ASSERT_EQ(driver.report().instances.size(), 1U);
  driver.tell(a_partial_command(3, {}, {key_of("web"), key_of("unknown")}));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
  EXPECT_FALSE(driver.durable().wanted.contains(key_of("web")));
  EXPECT_TRUE(driver.durable().wanted.contains(key_of("db")));
}

TEST(Command, AFullOneStopsWhatItDoesNotListAndIsAnsweredFully) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_full_command(2, {a_spec("db")}));
  ASSERT_EQ(driver.actions<Stop>().size(), 1U);
  EXPECT_EQ(driver.actions<Stop>()[0].grace, 10s);
  EXPECT_EQ(driver.started_items(), Items{"db"});
  EXPECT_TRUE(driver.report().full);
  EXPECT_TRUE(driver.status("web").stopping);
  driver.tell(Exited{key_of("web"), {number(1), 0}, 0});
  EXPECT_TRUE(driver.noted("stopped"));
  EXPECT_FALSE(driver.is_shown("web"));
}

TEST(Command, AFullOneCanLeaveSomethingAsItWasTold) {
  Driver driver = a_driver_running(a_spec("web"));
  auto keeping = a_full_command(2, {a_spec("db")});
  keeping.command.keep = {key_of("web"), key_of("unknown")};
  driver.tell(keeping);
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_EQ(driver.started_items(), Items{"db"});
  driver.tell(a_full_command(3, {a_spec("db")}));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
}

TEST(Command, ADroppedComponentIsStopped) {
  Driver driver = a_driver_running(a_spec("os").type(ItemType::Component));
  driver.tell(a_full_command(2, {}));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
  EXPECT_TRUE(driver.status("os").stopping);
}

TEST(Command, CanAskForAFullReport) {
  Driver driver = a_driver_running(a_spec("web"));
  auto ask = a_partial_command(2, {});
  ask.command.report_fully = true;
  driver.tell(ask);
  EXPECT_TRUE(driver.report().full);
  EXPECT_EQ(driver.report().instances.size(), 1U);
  driver.tell(ask);  // a repeat asks again
  EXPECT_TRUE(driver.report().full);
}

TEST(Command, OneThatChangesNothingIsAnsweredByAHeartbeatWithItsNumber) {
  Driver driver = a_driver_running(a_spec("web"));
  const auto revision = driver.report().revision;
  driver.tell(a_partial_command(2, {a_spec("web")}));
  EXPECT_EQ(driver.effects().writes, std::vector<Write>{WriteActed{number(2)}});
  EXPECT_TRUE(driver.effects().actions.empty());
  EXPECT_TRUE(model::is_heartbeat(driver.report()));
  EXPECT_EQ(driver.report().acted, number(2));
  EXPECT_EQ(driver.report().revision, revision);
}

TEST(Command, ASpecThatRunsTheSameIsTakenOverWithoutARestart) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_partial_command(2, {a_spec("web").priority(7)}));
  EXPECT_TRUE(driver.effects().actions.empty());
  EXPECT_EQ(driver.durable().wanted.at(key_of("web")).spec.priority, 7);
  EXPECT_EQ(driver.durable().wanted.at(key_of("web")).generation, number(1));
}

TEST(Command, AChangedSpecStopsTheOldRunAndThenStartsTheNew) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_partial_command(2, {a_spec("web").version("2")}));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_EQ(driver.status("web").state, InstanceState::Activating);
  EXPECT_EQ(driver.status("web").version, "2");
  EXPECT_FALSE(driver.status("web").stopping);
  driver.tell(Exited{key_of("web"), {number(1), 0}, 137});
  EXPECT_EQ(driver.started_run(), (RunId{number(2), 0}));
  EXPECT_EQ(driver.actions<Start>()[0].spec.item.version, "2");
}

TEST(Command, AMoveToAnotherRuntimeWaitsForTheEndOnTheFirst) {
  Driver driver = a_driver({a_runtime("crun"), a_runtime("runc")});
  driver.tell(a_full_command(1, {a_spec("web")}));
  driver.tell(Started{key_of("web"), driver.started_run()});
  driver.tell(a_partial_command(2, {a_spec("web").on("runc")}));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_EQ(driver.actions<Stop>()[0].runtime, model::RuntimeId{"crun"});
  driver.tell(Exited{key_of("web"), {number(1), 0}, 0});
  EXPECT_EQ(driver.actions<Start>()[0].spec.runtime, model::RuntimeId{"runc"});
}

TEST(Command, OneWantedAgainWhileItStopsIsStartedAfterItsEnd) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_full_command(2, {}));
  driver.tell(a_full_command(3, {a_spec("web")}));
  EXPECT_TRUE(driver.effects().actions.empty());
  EXPECT_FALSE(driver.status("web").stopping);
  driver.tell(Exited{key_of("web"), {number(1), 0}, 0});
  EXPECT_EQ(driver.started_run(), (RunId{number(3), 0}));
}

TEST(Command, OneDroppedBeforeItCouldStartIsJustGone) {
  Driver driver = a_driver({a_runtime("crun", model::Readiness::NotReady)});
  driver.tell(a_full_command(1, {a_spec("web")}));
  driver.tell(a_partial_command(2, {}, {key_of("web")}));
  EXPECT_TRUE(driver.effects().actions.empty());
  EXPECT_EQ(driver.report().gone, std::vector{key_of("web")});
}

TEST(Command, AChangeResetsFinished) {
  Driver driver = a_driver_running(a_spec("job").restart(model::RestartMode::Never));
  driver.tell(Exited{key_of("job"), {number(1), 0}, 0});
  ASSERT_TRUE(driver.durable().wanted.at(key_of("job")).finished);
  driver.tell(a_partial_command(2, {a_spec("job").restart(model::RestartMode::Never).priority(3)}));
  EXPECT_TRUE(driver.durable().wanted.at(key_of("job")).finished);
  EXPECT_TRUE(driver.actions<Start>().empty());
  driver.tell(
      a_partial_command(3, {a_spec("job").restart(model::RestartMode::Never).version("2")}));
  EXPECT_FALSE(driver.durable().wanted.at(key_of("job")).finished);
  EXPECT_EQ(driver.started_items(), Items{"job"});
}

TEST(Command, TheLastOfTwoSpecsForAKeyCounts) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_spec("web"), a_spec("web").version("2")}));
  ASSERT_EQ(driver.actions<Start>().size(), 1U);
  EXPECT_EQ(driver.actions<Start>()[0].spec.item.version, "2");
}

TEST(Command, OneForMoreInstancesThanTheLimitIsNotCarriedOut) {
  Config config = a_config();
  config.instances_max = 2;
  Driver driver = a_driver({a_runtime("crun")}, config);
  driver.tell(a_full_command(1, {a_spec("a"), a_spec("b"), a_spec("c")}));
  EXPECT_TRUE(driver.effects().writes.empty());
  EXPECT_TRUE(driver.effects().actions.empty());
  EXPECT_TRUE(driver.noted("more than 2 instances"));
  EXPECT_EQ(driver.report().acted, model::CommandNumber{});
  driver.tell(a_full_command(2, {a_spec("a"), a_spec("b")}));
  EXPECT_EQ(driver.actions<Start>().size(), 2U);
  driver.tell(a_partial_command(3, {a_spec("c")}));
  EXPECT_TRUE(driver.noted("more than 2 instances"));
}

TEST(Command, AFullNodeCanStillBeExchangedButNotFasterThanItStops) {
  Config config = a_config();
  config.instances_max = 2;
  Driver driver = a_driver({a_runtime("crun")}, config);
  driver.tell(a_full_command(1, {a_spec("a"), a_spec("b")}));
  driver.tell(a_full_command(2, {a_spec("c"), a_spec("d")}));
  EXPECT_EQ(driver.actions<Start>().size(), 2U);
  driver.tell(a_full_command(3, {a_spec("e")}));
  EXPECT_TRUE(driver.noted("ignored"));
  driver.tell(Exited{key_of("a"), {number(1), 0}, 0});
  driver.tell(a_full_command(4, {a_spec("e")}));
  EXPECT_EQ(driver.started_items(), Items{"e"});
}

// --- A store that takes nothing ------------------------------------------------------------------

const StoreObserved kDiskIsFull{"the disk is full"};

TEST(FullDisk, IsSaidOfTheNodeWhichIsNotInErrorForThat) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(kDiskIsFull);
  ASSERT_TRUE(driver.report().node);
  EXPECT_EQ(driver.report().node->store_problem, "the disk is full");
  EXPECT_EQ(driver.report().node->state, model::NodeState::Provisioned);
  driver.tell(a_node());
  EXPECT_TRUE(driver.effects().reports.empty()) << "it is known already";
  driver.tell(StoreObserved{});
  EXPECT_EQ(driver.report().node->store_problem, "");
}

TEST(FullDisk, NothingIsStartedUntilThereIsRoom) {
  Driver driver = a_driver();
  driver.tell(kDiskIsFull);
  driver.tell(a_full_command(1, {a_spec("web")}));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_EQ(driver.status("web").problem.reason, "StoreNotWritable");
  driver.tell(StoreObserved{});
  EXPECT_EQ(driver.started_items(), std::vector<std::string>{"web"});
}

TEST(FullDisk, WhatIsNotWantedIsStopped) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(kDiskIsFull);
  driver.tell(a_full_command(2, {}));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
  driver.tell(Exited{key_of("web"), {number(1), 0}, 0});
  EXPECT_FALSE(driver.is_shown("web"));
}

TEST(FullDisk, WhatRunsIsReplacedOnlyWhenThereIsRoom) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(kDiskIsFull);
  driver.tell(a_full_command(2, {a_spec("web").version("2")}));
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_EQ(driver.status("web").problem.reason, "StoreNotWritable");
  driver.tell(StoreObserved{});
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
  driver.tell(Exited{key_of("web"), {number(1), 0}, 0});
  EXPECT_EQ(driver.started_run(), (RunId{number(2), 0}));
}

TEST(FullDisk, WhatTheCommandThatFoundItFullShouldReplaceGoesOn) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_full_command(2, {a_spec("web").version("2")}));
  ASSERT_EQ(driver.actions<Stop>().size(), 1U);
  driver.tell(kDiskIsFull, StopWithheld{key_of("web"), {number(1), 0}});
  EXPECT_TRUE(driver.effects().actions.empty());
  driver.wait(10min);
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_EQ(driver.status("web").version, "2");
  EXPECT_NE(driver.status("web").problem.message.find("version 1 runs on"), std::string::npos);
  driver.tell(StoreObserved{});
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
  driver.tell(Exited{key_of("web"), {number(1), 0}, 0});
  EXPECT_EQ(driver.started_run(), (RunId{number(2), 0}));
}

TEST(FullDisk, WhatEndsIsReportedAndStartedAgainWhenThereIsRoom) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(kDiskIsFull);
  driver.tell(Exited{key_of("web"), {number(1), 0}, 3});
  EXPECT_EQ(driver.status("web").exit_code, 3);
  EXPECT_EQ(driver.status("web").state, InstanceState::Failed);
  driver.wait(10min);
  EXPECT_TRUE(driver.actions<Start>().empty());
  driver.tell(StoreObserved{});
  EXPECT_EQ(driver.started_items(), std::vector<std::string>{"web"});
}

}  // namespace
}  // namespace berth::agent
