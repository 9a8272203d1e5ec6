#include <gtest/gtest.h>

#include "agent/driver.h"

// What an agent finds when it starts, or when a runtime has been restarted.
namespace berth::agent {
namespace {

using model::InstanceState;
using model::ItemType;
using Items = std::vector<std::string>;

Restored wanting(const std::vector<model::InstanceSpec>& specs) {
  Restored restored;
  restored.acted = number(7);
  for (const model::InstanceSpec& spec : specs) {
    restored.wanted[spec.key] = {spec, number(3), false, std::nullopt};
  }
  return restored;
}

const RunId kRun{number(3), 4};  // the fifth run of what `wanting` wants

TEST(Boot, AsksEachRuntimeOnceWhatItRuns) {
  Driver driver;
  driver.tell(a_node({a_runtime("crun"), a_runtime("wasm")}));
  EXPECT_EQ(driver.actions<ListRuns>(),
            (std::vector{ListRuns{model::RuntimeId{"crun"}}, ListRuns{model::RuntimeId{"wasm"}}}));
  driver.tell(a_node({a_runtime("crun"), a_runtime("wasm"), a_runtime("vm")}));
  EXPECT_EQ(driver.actions<ListRuns>(), (std::vector{ListRuns{model::RuntimeId{"vm"}}}));
}

// It died when it had written down what to stop, and before it could do so.
TEST(Boot, TellsNobodyThatSomethingIsGoneBeforeItKnows) {
  Driver driver(a_config(), wanting({}));
  driver.tell(Connected{1}, a_node());
  EXPECT_TRUE(driver.effects().reports.empty());
  driver.tell(a_list("crun", {a_found("web", kRun)}));
  EXPECT_TRUE(driver.report().full);
  EXPECT_TRUE(driver.status("web").stopping);
}

TEST(Boot, ARuntimeThatDoesNotTellWhatItRunsMakesNobodySilent) {
  Driver driver(a_config(), wanting({}));
  driver.tell(Connected{1}, a_node());
  EXPECT_TRUE(driver.wait(3s - 1us).reports.empty());
  EXPECT_EQ(driver.wait(1us).reports.size(), 1u);
}

TEST(Boot, WhoDoesNotKnowWhatRunsOnARuntimeSaysSoAndSetsItRightLater) {
  Driver driver(a_config(), wanting({}));
  driver.tell(Connected{1}, a_node({a_runtime("crun"), a_runtime("runc")}));
  driver.tell(a_list("runc"));
  driver.wait(3s);
  EXPECT_EQ(driver.report().untold_runtimes, std::vector{model::RuntimeId("crun")});
  driver.tell(Connected{2});
  EXPECT_EQ(driver.report().untold_runtimes, std::vector{model::RuntimeId("crun")});
  driver.tell(a_list("crun"));
  EXPECT_TRUE(driver.report().full);
  EXPECT_TRUE(driver.report().untold_runtimes.empty());
}

TEST(Boot, ARuntimeThatTheNodeHasNoLongerTellsNothing) {
  Driver driver(a_config(), wanting({}));
  driver.tell(Connected{1}, a_node({a_runtime("crun"), a_runtime("runc")}));
  driver.wait(3s);
  driver.tell(a_node({a_runtime("runc")}));
  EXPECT_TRUE(driver.report().full);
  EXPECT_EQ(driver.report().untold_runtimes, std::vector{model::RuntimeId("runc")});
}

TEST(Boot, StartsNothingBeforeTheRuntimeHasToldWhatItRuns) {
  Driver driver(a_config(), wanting({a_spec("web")}));
  driver.tell();
  EXPECT_TRUE(driver.effects().actions.empty());
  driver.tell(a_node());
  EXPECT_TRUE(driver.actions<Start>().empty());
  driver.tell(a_list("crun"));
  EXPECT_EQ(driver.started_items(), Items{"web"});
}

FoundRun a_starting_run(const std::string& name) {
  FoundRun found = a_found(name, kRun);
  found.starting = true;
  return found;
}

TEST(Boot, WhatIsStillStartingIsAdoptedAndActiveOnlyWhenItRuns) {
  Driver driver(a_config(), wanting({a_spec("web")}));
  driver.tell(Connected{1}, a_node(), a_list("crun", {a_starting_run("web")}));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_EQ(driver.status("web").state, InstanceState::Activating);
  driver.tell(Started{key_of("web"), kRun});
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
}

TEST(Boot, WhatIsStillStartingIsNotCheckedBeforeItRuns) {
  Driver driver(a_config(), wanting({a_spec("web").checked_every(5s)}));
  driver.tell(Connected{1}, a_node(), a_list("crun", {a_starting_run("web")}));
  EXPECT_TRUE(driver.actions<CheckHealth>().empty());
  driver.tell(Started{key_of("web"), kRun});
  EXPECT_EQ(driver.actions<CheckHealth>().size(), 1U);
}

TEST(Boot, WhatNeverComesUpIsGivenUpAsAnyStart) {
  Driver driver(a_config(), wanting({a_spec("web")}));
  driver.tell(Connected{1}, a_node(), a_list("crun", {a_starting_run("web")}));
  driver.wait(60s);
  ASSERT_EQ(driver.actions<Stop>().size(), 1U);
  EXPECT_EQ(driver.actions<Stop>()[0].run, kRun);
}

TEST(Boot, AStartThatFailedWhileTheAgentWasAwayIsTriedAgain) {
  Driver driver(a_config(), wanting({a_spec("web")}));
  driver.tell(Connected{1}, a_node(), a_list("crun", {a_starting_run("web")}));
  driver.tell(Exited{key_of("web"), kRun, 127, {"StartFailed", "no"}});
  driver.wait(10s);
  EXPECT_EQ(driver.started_items(), Items{"web"});
}

TEST(Boot, WhatRunsOnARuntimeThatTheNodeNoLongerHasIsAdopted) {
  Driver driver(a_config(), wanting({a_spec("web")}));
  driver.tell(Connected{1}, RuntimeLeft{model::RuntimeId{"crun"}});
  EXPECT_EQ(driver.actions<ListRuns>(), (std::vector{ListRuns{model::RuntimeId{"crun"}}}));
  driver.tell(a_node({a_runtime("vm")}), a_list("vm"));
  EXPECT_TRUE(driver.actions<Start>().empty());
  driver.tell(a_list("crun", {a_found("web", kRun)}));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
}

TEST(Boot, NothingIsStartedElsewhereBeforeARuntimeThatHasLeftHasTold) {
  Driver driver(a_config(), wanting({a_spec("web").on("vm")}));
  driver.tell(RuntimeLeft{model::RuntimeId{"crun"}}, a_node({a_runtime("vm")}), a_list("vm"));
  EXPECT_TRUE(driver.actions<Start>().empty());
  driver.tell(a_list("crun"));
  EXPECT_EQ(driver.started_items(), Items{"web"});
}

TEST(Boot, NothingIsStartedOnARuntimeThatHasLeft) {
  Driver driver(a_config(), wanting({a_spec("web")}));
  driver.tell(Connected{1}, RuntimeLeft{model::RuntimeId{"crun"}}, a_node({a_runtime("vm")}),
              a_list("vm"), a_list("crun"));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_EQ(driver.status("web").problem.reason, "NoSuchRuntime");
}

TEST(Boot, StartsByPriorityThenByKeyWithNoControlPlaneInReach) {
  Driver driver(a_config(), wanting({a_spec("a").priority(1), a_spec("b").priority(9),
                                     a_spec("c").priority(9), a_spec("d").priority(-5)}));
  driver.tell(a_node(), a_list("crun"));
  EXPECT_EQ(driver.started_items(), (Items{"b", "c", "a", "d"}));
  EXPECT_TRUE(driver.effects().reports.empty());
}

TEST(Boot, AsksAgainAfterTheActionTimeout) {
  Driver driver;
  driver.tell(a_node());
  driver.wait(60s - 1us);
  EXPECT_TRUE(driver.actions<ListRuns>().empty());
  driver.wait(1us);
  EXPECT_EQ(driver.actions<ListRuns>().size(), 1U);
  driver.tell(a_list("crun"));
  driver.wait(1h);
  EXPECT_TRUE(driver.actions<ListRuns>().empty());
}

TEST(Boot, WaitsForTheOtherReadyRuntimesBecauseAnOlderRunMayBeThere) {
  Driver driver(a_config(), wanting({a_spec("web")}));
  driver.tell(a_node({a_runtime("crun"), a_runtime("runc")}), a_list("crun"));
  EXPECT_TRUE(driver.actions<Start>().empty());
  driver.tell(a_list("runc", {a_found("web", {number(2), 0})}));
  EXPECT_TRUE(driver.actions<Start>().empty());
  ASSERT_EQ(driver.actions<Stop>().size(), 1U);
  EXPECT_EQ(driver.actions<Stop>()[0].runtime, model::RuntimeId{"runc"});
  driver.tell(Exited{key_of("web"), {number(2), 0}, 0});
  EXPECT_EQ(driver.started_items(), Items{"web"});
}

TEST(Boot, DoesNotWaitForARuntimeThatIsNotReady) {
  Driver driver(a_config(), wanting({a_spec("web")}));
  driver.tell(a_node({a_runtime("crun"), a_runtime("vm", model::Readiness::Unknown)}),
              a_list("crun"));
  EXPECT_EQ(driver.started_items(), Items{"web"});
}

TEST(Boot, DoesNotWaitForeverForARuntimeThatSaysNothing) {
  Driver driver(a_config(), wanting({a_spec("web")}));
  driver.tell(a_node({a_runtime("crun"), a_runtime("vm")}), a_list("crun"));
  driver.wait(60s);
  EXPECT_EQ(driver.started_items(), Items{"web"});
}

TEST(Boot, AFinishedInstanceIsNotStarted) {
  Restored restored = wanting({a_spec("done"), a_spec("broken")});
  restored.wanted[key_of("done")].finished = true;
  restored.wanted[key_of("done")].exit_code = 0;
  restored.wanted[key_of("broken")].finished = true;
  restored.wanted[key_of("broken")].exit_code = 3;
  Driver driver(a_config(), restored);
  driver.tell(Connected{1}, a_node(), a_list("crun"));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_EQ(driver.status("done").state, InstanceState::Inactive);
  EXPECT_EQ(driver.status("broken").state, InstanceState::Failed);
  EXPECT_EQ(driver.status("broken").exit_code, 3);
  EXPECT_TRUE(driver.status("broken").finished);
}

TEST(Adoption, TheWantedRunIsActiveAtOnceAndUntouched) {
  Driver driver(a_config(), wanting({a_spec("web")}));
  driver.tell(Connected{1}, a_node(), a_list("crun", {a_found("web", kRun)}));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_TRUE(driver.noted("adopted"));
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
}

TEST(Adoption, OneThatEndsAsItIsFoundHasEndedLikeAnyOther) {
  Driver driver(a_config(), wanting({a_spec("web").restart(model::RestartMode::Never)}));
  driver.tell(Connected{1}, a_node(), a_list("crun", {a_found("web", kRun)}),
              Exited{key_of("web"), kRun, 3});
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_EQ(driver.status("web").exit_code, 3);
  EXPECT_TRUE(driver.status("web").finished);
}

TEST(Adoption, ALeftoverThatEndsAsItIsFoundIsNotTheEndOfTheOneThatIsKept) {
  Driver driver(a_config(), wanting({a_spec("web").restart(model::RestartMode::Never)}));
  const RunId older{number(3), 0};
  driver.tell(Connected{1}, a_node(), a_list("crun", {a_found("web", older), a_found("web", kRun)}),
              Exited{key_of("web"), older, 3});
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
  EXPECT_FALSE(driver.status("web").finished);
}

TEST(Adoption, TheNextRunHasANewAttempt) {
  Driver driver(a_config(), wanting({a_spec("web")}));
  driver.tell(a_node(), a_list("crun", {a_found("web", kRun)}));
  driver.tell(Exited{key_of("web"), kRun, 1});
  driver.wait(1s);
  EXPECT_EQ(driver.started_run(), (RunId{number(3), 5}));
}

TEST(Adoption, OneWithAHealthCheckIsActivatingUntilItPassesAndNotRestartedForASlowCheck) {
  Driver driver(a_config(), wanting({a_spec("web").checked_every(5s, 1)}));
  driver.tell(Connected{1}, a_node(), a_list("crun", {a_found("web", kRun)}));
  EXPECT_EQ(driver.actions<CheckHealth>().size(), 1U);
  EXPECT_EQ(driver.status("web").state, InstanceState::Activating);
  driver.wait(15s);
  EXPECT_TRUE(driver.actions<Stop>().empty());
  driver.tell(HealthChecked{key_of("web"), kRun, true, ""});
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
}

TEST(Adoption, ARunOfAnotherGenerationIsStoppedThenTheWantedOneStarted) {
  Driver driver(a_config(), wanting({a_spec("web")}));
  const RunId old{number(2), 0};
  driver.tell(a_node(), a_list("crun", {a_found("web", old)}));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
  EXPECT_TRUE(driver.actions<Start>().empty());
  driver.tell(Exited{key_of("web"), old, 0});
  EXPECT_EQ(driver.started_run(), (RunId{number(3), 0}));
}

TEST(Adoption, OfSeveralRunsTheNewestIsKept) {
  Driver driver(a_config(), wanting({a_spec("web")}));
  driver.tell(a_node(), a_list("crun", {a_found("web", {number(3), 0}), a_found("web", kRun)}));
  ASSERT_EQ(driver.actions<Stop>().size(), 1U);
  EXPECT_EQ(driver.actions<Stop>()[0].run, (RunId{number(3), 0}));
}

TEST(Adoption, AFinishedOneThatIsFoundIsStopped) {
  Restored restored = wanting({a_spec("web")});
  restored.wanted[key_of("web")].finished = true;
  Driver driver(a_config(), restored);
  driver.tell(a_node(), a_list("crun", {a_found("web", kRun)}));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
  driver.tell(Exited{key_of("web"), kRun, 0});
  EXPECT_TRUE(driver.actions<Start>().empty());
}

TEST(Adoption, ServicesAndFunctionsNobodyWantsAreStoppedAndListedUntilGone) {
  Driver driver(a_config(), wanting({}));
  driver.tell(Connected{1}, a_node(),
              a_list("crun", {a_found("web", kRun), a_found("fn", kRun, ItemType::Function)}));
  EXPECT_EQ(driver.actions<Stop>().size(), 2U);
  EXPECT_TRUE(driver.status("web").stopping);
  EXPECT_EQ(driver.status("fn").type, ItemType::Function);
  driver.tell(Exited{key_of("web"), kRun, 0});
  EXPECT_EQ(driver.report().gone, std::vector{key_of("web")});
}

TEST(Adoption, AComponentNobodyWantsIsLeftAloneAndReported) {
  Driver driver;
  driver.tell(Connected{1}, a_node(), a_list("crun", {a_found("os", {}, ItemType::Component)}));
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_EQ(driver.status("os").type, ItemType::Component);
  EXPECT_EQ(driver.status("os").state, InstanceState::Active);
  EXPECT_EQ(driver.status("os").version, "1");
  EXPECT_FALSE(driver.status("os").stopping);
  driver.tell(a_full_command(1, {}));
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_TRUE(driver.is_shown("os"));
}

TEST(Adoption, AComponentThatWasOursAndIsNoLongerWantedIsStopped) {
  Driver driver(a_config(), wanting({}));
  driver.tell(a_node(), a_list("crun", {a_found("os", kRun, ItemType::Component)}));
  ASSERT_EQ(driver.actions<Stop>().size(), 1U);
  EXPECT_EQ(driver.actions<Stop>().front().run, kRun);
}

TEST(Adoption, WhatIsToldLaterWaitsForTheRoomOfALeftover) {
  Driver driver(a_config(), wanting({}));
  driver.tell(Connected{1}, a_node());
  driver.tell(a_full_command(8, {a_spec("new")}));
  driver.tell(a_list("crun", {a_found("old", kRun)}));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
  EXPECT_TRUE(driver.actions<Start>().empty());
  driver.tell(Exited{model::InstanceSpec(a_spec("old")).key, kRun, 0});
  EXPECT_EQ(driver.started_items(), Items{"new"});
}

TEST(Adoption, APreinstalledComponentThatIsAskedForAsItIsIsNotRestarted) {
  Driver driver;
  const auto found = a_found("os", {}, ItemType::Component);
  driver.tell(Connected{1}, a_node(), a_list("crun", {found}));
  driver.tell(a_full_command(1, {a_spec("os").type(ItemType::Component)}));
  EXPECT_TRUE(driver.effects().actions.empty());
  EXPECT_EQ(driver.status("os").state, InstanceState::Active);
  driver.restart();
  driver.tell(Connected{2}, a_node(), a_list("crun", {found}));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_TRUE(driver.actions<Stop>().empty());
}

TEST(Adoption, APreinstalledComponentIsReplacedByANewVersion) {
  Driver driver;
  driver.tell(Connected{1}, a_node(), a_list("crun", {a_found("os", {}, ItemType::Component)}));
  driver.tell(a_full_command(1, {a_spec("os").type(ItemType::Component).version("2")}));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
  driver.tell(Exited{key_of("os"), {}, 0});
  EXPECT_EQ(driver.started_items(), Items{"os"});
}

// An agent that has lost its store, connected, and what its runtime says that it runs.
Driver a_driver_that_lost_its_store(const std::vector<FoundRun>& runs) {
  Driver driver;
  driver.lose_store();
  driver.tell(Connected{1}, a_node(), a_list("crun", runs));
  return driver;
}

TEST(LostStore, WhatRunsIsKeptAndReportedAsItIs) {
  const Driver driver = a_driver_that_lost_its_store({a_found(a_spec("web").version("7"), kRun)});
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
  EXPECT_EQ(driver.status("web").version, "7");
  EXPECT_TRUE(driver.report().in_doubt);
  EXPECT_EQ(driver.report().acted, kRun.generation);
}

TEST(LostStore, WhatAFullCommandListsAndRunsTheSameIsUntouched) {
  Driver driver = a_driver_that_lost_its_store({a_found(a_spec("web"), kRun)});
  driver.tell(a_full_command(9, {a_spec("web").priority(5)}));
  EXPECT_TRUE(driver.effects().actions.empty());
  EXPECT_FALSE(driver.report().in_doubt);
  driver.restart();
  driver.tell(Connected{2}, a_node(), a_list("crun", {a_found(a_spec("web"), kRun)}));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_FALSE(driver.report().in_doubt);
}

std::size_t states_said(const Effects& effects) {
  std::size_t count = 0;
  for (const model::Report& report : effects.reports) count += report.states.size();
  return count;
}

TEST(LostStore, AStateIsSaidWhenItIsKnownWhatRuns) {
  Driver driver;
  driver.lose_store();
  driver.tell(Connected{1}, a_node(),
              StateSaved{.key = key_of("web"), .size = Bytes{1}, .digest = "d", .content = "c"});
  EXPECT_EQ(states_said(driver.effects()) + states_said(driver.wait(1s)), 0U);
  driver.tell(a_list("crun", {a_found(a_spec("web"), kRun)}));
  const std::size_t at_once = states_said(driver.effects());
  EXPECT_EQ(at_once + states_said(driver.wait(1s)), 1U);
}

TEST(LostStore, ACommandThatComesBeforeTheRunsAreFoundRestartsNothing) {
  Driver driver;
  driver.lose_store();
  driver.tell(Connected{1}, a_node(), a_full_command(9, {a_spec("web")}));
  driver.tell(a_list("crun", {a_found(a_spec("web"), kRun)}));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
  driver.restart();
  driver.tell(a_node(), a_list("crun", {a_found(a_spec("web"), kRun)}));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_TRUE(driver.actions<Stop>().empty());
}

TEST(LostStore, WhatAFullCommandDoesNotListIsStopped) {
  Driver driver =
      a_driver_that_lost_its_store({a_found(a_spec("web"), kRun), a_found("old", kRun)});
  EXPECT_TRUE(driver.actions<Stop>().empty());
  driver.tell(a_full_command(9, {}));
  EXPECT_EQ(driver.actions<Stop>().size(), 2U);
}

TEST(LostStore, WhatRunsSomethingElseIsReplacedWhenAFullCommandSaysSo) {
  Driver driver = a_driver_that_lost_its_store({a_found(a_spec("web"), kRun)});
  driver.tell(a_full_command(9, {a_spec("web").env("A", "b")}));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
  driver.tell(Exited{key_of("web"), kRun, 0});
  EXPECT_EQ(driver.started_run(), (RunId{number(9), 0}));
}

TEST(LostStore, APartialCommandChangesNothing) {
  Driver driver = a_driver_that_lost_its_store({a_found(a_spec("web"), kRun)});
  driver.tell(a_partial_command(4, {}, {key_of("web")}));
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_TRUE(driver.noted("what it builds on is lost"));
}

TEST(LostStore, ACommandFromBeforeWhatRunsIsNoNews) {
  Driver driver = a_driver_that_lost_its_store({a_found(a_spec("web"), kRun)});
  driver.tell(a_full_command(3, {}));
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_TRUE(driver.noted("not newer"));
}

TEST(LostStore, WhatEndsIsStartedAgainAsItWas) {
  Driver driver = a_driver_that_lost_its_store({a_found(a_spec("web").env("A", "b"), kRun)});
  driver.wait(20s);
  driver.tell(Exited{key_of("web"), kRun, 1});
  driver.wait(1s);
  ASSERT_EQ(driver.actions<Start>().size(), 1U);
  EXPECT_EQ(driver.actions<Start>()[0].spec, a_spec("web").env("A", "b"));
  EXPECT_EQ(driver.started_run(), (RunId{number(3), 5}));
}

TEST(LostStore, NothingIsStartedWhileTheControlPlaneMayStillSpeak) {
  Restored restored = wanting({a_spec("web")});
  restored.in_doubt = true;
  Driver driver(a_config(), restored);
  driver.tell(a_node(), a_list("crun"));
  driver.wait(15s - 1us);
  EXPECT_TRUE(driver.actions<Start>().empty());
  driver.wait(1us);
  EXPECT_EQ(driver.started_items(), Items{"web"});
}

TEST(LostStore, AFullCommandEndsTheWait) {
  Restored restored = wanting({a_spec("web"), a_spec("gone")});
  restored.in_doubt = true;
  Driver driver(a_config(), restored);
  driver.tell(Connected{1}, a_node(), a_list("crun"));
  driver.tell(a_full_command(9, {a_spec("web")}));
  EXPECT_EQ(driver.started_items(), Items{"web"});
}

TEST(LostStore, WhatAFullCommandKeepsIsNotStartedAsAnOlderStoreSays) {
  Restored restored = wanting({a_spec("web"), a_spec("db")});
  restored.in_doubt = true;
  Driver driver(a_config(), restored);
  driver.tell(Connected{1}, a_node(), a_list("crun", {a_found(a_spec("db"), kRun)}));
  CommandReceived command = a_full_command(9, {});
  command.command.keep = {key_of("web"), key_of("db")};
  driver.tell(command);
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_FALSE(driver.is_shown("web"));
  EXPECT_EQ(driver.status("db").state, InstanceState::Active);
}

TEST(LostStore, TheDoubtOutlivesTheAgent) {
  Driver driver = a_driver_that_lost_its_store({a_found("old", kRun)});
  driver.restart();
  driver.tell(Connected{2}, a_node(), a_list("crun", {a_found("old", kRun)}));
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_TRUE(driver.report().in_doubt);
  EXPECT_EQ(driver.status("old").state, InstanceState::Active);
  EXPECT_FALSE(driver.status("old").stopping);
}

TEST(LostStore, WhatStandsStillGoesOnStandingStill) {
  Driver driver = a_driver_that_lost_its_store({a_found(a_spec("web").paused(), kRun)});
  const auto orders = driver.actions<SetPausing>();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].pausing, model::Pausing::Paused);
}

TEST(LostStore, AnOlderOneIsKnownByWhatRuns) {
  Driver driver(a_config(), wanting({a_spec("web")}));
  const RunId newer{number(9), 0};
  driver.tell(Connected{1}, a_node(),
              a_list("crun", {a_found(a_spec("web"), newer), a_found(a_spec("db"), newer)}));
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_TRUE(driver.report().in_doubt);
  EXPECT_EQ(driver.status("db").state, InstanceState::Active);
  driver.wait(60s);
  EXPECT_TRUE(driver.actions<Stop>().empty());
}

// What is to run and the command that says so are written at once.
TEST(LostStore, OneThatWantsByALaterCommandThanItKnowsIsTorn) {
  Restored torn = wanting({a_spec("web")});
  torn.acted = {};
  Driver driver(a_config(), torn);
  driver.tell(Connected{1}, a_node(), a_list("crun"));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_TRUE(driver.report().in_doubt);
  EXPECT_TRUE(driver.durable().in_doubt);
  driver.tell(a_full_command(9, {a_spec("web")}));
  EXPECT_EQ(driver.started_items(), Items{"web"});
}

TEST(LostStore, AnOlderOneBelievesWhatRunsNewer) {
  Restored restored = wanting({a_spec("web")});
  restored.in_doubt = true;
  Driver driver(a_config(), restored);
  const RunId newer{number(9), 0};
  driver.tell(Connected{1}, a_node(), a_list("crun", {a_found(a_spec("web").version("2"), newer)}));
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_EQ(driver.status("web").version, "2");
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
  EXPECT_EQ(driver.report().acted, number(9));
}

TEST(LostStore, DataAreErasedOnlyIfTheControlPlaneStillSaysSo) {
  Restored restored;
  restored.erasing = {key_of("web"), key_of("db")};
  restored.in_doubt = true;
  Driver driver(a_config(), restored);
  driver.tell(Connected{1}, a_node(), a_list("crun"));
  driver.wait(60s);
  EXPECT_TRUE(driver.actions<EraseData>().empty());
  CommandReceived command = a_full_command(9, {});
  command.command.erase = {key_of("db")};
  driver.tell(command);
  EXPECT_EQ(driver.actions<EraseData>(), (std::vector{EraseData{key_of("db")}}));
  EXPECT_EQ(driver.durable().erasing, std::set{key_of("db")});
}

TEST(Relisting, ARunThatIsNoLongerThereIsRestartedByItsPolicy) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_list("crun"));
  EXPECT_EQ(driver.status("web").state, InstanceState::Failed);
  EXPECT_EQ(driver.status("web").problem.reason, "Exited");
  EXPECT_EQ(driver.status("web").exit_code, std::nullopt);
  driver.wait(1s);
  EXPECT_EQ(driver.started_run(), (RunId{number(1), 1}));
}

TEST(Relisting, ARunThatIsStillThereIsUntouched) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_list("crun", {a_found("web", {number(1), 0})}));
  EXPECT_TRUE(driver.effects().actions.empty());
  EXPECT_TRUE(driver.effects().reports.empty());
}

TEST(Relisting, RunsOfOtherRuntimesAreUntouched) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_node({a_runtime("crun"), a_runtime("wasm")}));
  driver.tell(a_list("wasm"));
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
}

TEST(Relisting, AStartThatIsNotAnsweredYetIsNotMissed) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_spec("web")}));
  driver.tell(a_list("crun"));
  driver.wait(59s);
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_EQ(driver.status("web").state, InstanceState::Activating);
}

TEST(Relisting, AStopWhoseRunIsNoLongerThereIsDone) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_full_command(2, {}));
  driver.tell(a_list("crun"));
  EXPECT_FALSE(driver.is_shown("web"));
}

TEST(AgentRestart, RestartsNothingThatIsHealthy) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.restart();
  driver.tell(a_node(), a_list("crun", {a_found("web", {number(1), 0})}));
  driver.tell(Connected{2});
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
  EXPECT_TRUE(driver.actions<Start>().empty());
}

}  // namespace
}  // namespace berth::agent
