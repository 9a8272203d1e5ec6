#include "agent/instance.h"

#include <gtest/gtest.h>

#include "agent/driver.h"

// The life of one instance: started, ended, restarted, refused, stopped.
namespace berth::agent {
namespace {

using model::InstanceState;
using model::Readiness;
using model::RestartMode;
using Items = std::vector<std::string>;

const RunId kFirst{number(1), 0};

Exited web_exited(RunId run, std::int32_t code) { return {key_of("web"), run, code}; }

TEST(Instance, IsActivatingUntilStartedThenActive) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_spec("web")}));
  EXPECT_EQ(driver.started_run(), kFirst);
  EXPECT_EQ(driver.status("web").state, InstanceState::Activating);
  driver.tell(Started{key_of("web"), kFirst});
  EXPECT_TRUE(driver.noted("started"));
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
}

TEST(Instance, SaysWhatItsStartWaitsForUntilItHasStarted) {
  const model::Problem slow{"StartSlow", "runc create has not answered for 2s"};
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_spec("web")}));
  driver.tell(Remarked{key_of("web"), kFirst, slow});
  EXPECT_EQ(driver.status("web").state, InstanceState::Activating);
  EXPECT_EQ(driver.status("web").problem, slow);
  driver.tell(Started{key_of("web"), kFirst});
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
  EXPECT_EQ(driver.status("web").problem, model::Problem{});
}

TEST(Instance, WhatIsRemarkedOnARunThatIsUpIsAWarningUntilItIsTakenBack) {
  const model::Problem stopped{"SupervisorStopped", "it stands still"};
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(Remarked{key_of("web"), kFirst, stopped});
  EXPECT_TRUE(driver.noted("SupervisorStopped"));
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
  EXPECT_EQ(driver.status("web").problem, stopped);
  driver.tell(Remarked{key_of("web"), {number(1), 7}, {}});
  EXPECT_EQ(driver.status("web").problem, stopped) << "that was another run";
  driver.tell(Remarked{key_of("web"), kFirst, {}});
  EXPECT_EQ(driver.status("web").problem, model::Problem{});
}

TEST(Instance, EventsOfAnotherRunAreIgnored) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(web_exited({number(1), 1}, 1), Exited{key_of("other"), kFirst, 1},
              StartFailed{key_of("web"), {number(0), 0}, {}}, Started{key_of("web"), kFirst});
  EXPECT_TRUE(driver.effects().actions.empty());
  EXPECT_TRUE(driver.effects().reports.empty());
}

TEST(Restart, WaitsLongerEachTime) {
  Driver driver = a_driver_running(a_spec("web").backoff(1s, 4s));
  RunId run = kFirst;
  for (const Duration wait : {1s, 2s, 4s, 4s}) {
    driver.tell(web_exited(run, 3));
    EXPECT_EQ(driver.status("web").state, InstanceState::Failed);
    EXPECT_EQ(driver.status("web").exit_code, 3);
    EXPECT_EQ(driver.status("web").problem,
              (model::Problem{"Exited", "exited with code 3; next try in " + to_text(wait)}));
    driver.wait(wait - 1us);
    EXPECT_TRUE(driver.actions<Start>().empty());
    driver.wait(1us);
    EXPECT_EQ(driver.started_run(), (RunId{number(1), run.attempt + 1}));
    run = driver.started_run();
    driver.tell(Started{key_of("web"), run});
  }
  EXPECT_EQ(driver.status("web").restarts, 4U);
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
}

TEST(Restart, ALongActiveRunEndsTheRow) {
  Driver driver = a_driver_running(a_spec("web").backoff(1s, 4s));
  driver.tell(web_exited(kFirst, 1));
  driver.wait(1s);
  driver.tell(Started{key_of("web"), {number(1), 1}});
  driver.wait(4s);
  driver.tell(web_exited({number(1), 1}, 1));
  EXPECT_EQ(driver.status("web").problem.message, "exited with code 1; next try in 1s");
}

TEST(Restart, AFailedStartIsTriedAgain) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_spec("web")}));
  driver.tell(StartFailed{key_of("web"), kFirst, {"NoImage", "not found"}});
  EXPECT_EQ(driver.status("web").problem,
            (model::Problem{"NoImage", "start failed: not found; next try in 1s"}));
  driver.wait(1s);
  EXPECT_EQ(driver.started_items(), Items{"web"});
}

TEST(Restart, WhatTheRuntimeKnowsOfAnEndIsShown) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(Exited{key_of("web"), kFirst, 137, {"OutOfMemory", "it used too much"}});
  EXPECT_EQ(
      driver.status("web").problem,
      (model::Problem{"OutOfMemory", "exited with code 137: it used too much; next try in 1s"}));
}

TEST(Restart, OnFailureIsFinishedWithSuccess) {
  Driver driver = a_driver_running(a_spec("web").restart(RestartMode::OnFailure));
  driver.tell(web_exited(kFirst, 1));
  driver.wait(1s);
  driver.tell(Started{key_of("web"), driver.started_run()});
  driver.tell(web_exited({number(1), 1}, 0));
  EXPECT_EQ(driver.status("web").state, InstanceState::Inactive);
  EXPECT_TRUE(driver.status("web").finished);
  EXPECT_TRUE(driver.durable().wanted.at(key_of("web")).finished);
  driver.wait(1h);
  EXPECT_TRUE(driver.actions<Start>().empty());
}

TEST(Restart, NeverIsFinishedWithTheFirstEnd) {
  Driver driver = a_driver_running(a_spec("web").restart(RestartMode::Never));
  driver.tell(web_exited(kFirst, 9));
  EXPECT_EQ(driver.status("web").state, InstanceState::Failed);
  EXPECT_EQ(driver.status("web").exit_code, 9);
  EXPECT_EQ(driver.status("web").problem.message, "exited with code 9");
  EXPECT_TRUE(driver.status("web").finished);
  driver.restart();
  driver.tell(Connected{2}, a_node(), a_list("crun"));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_EQ(driver.status("web").state, InstanceState::Failed);
}

TEST(Restart, AlwaysRestartsASuccess) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(web_exited(kFirst, 0));
  EXPECT_TRUE(driver.effects().writes.empty());
  driver.wait(1s);
  EXPECT_EQ(driver.started_items(), Items{"web"});
}

TEST(Start, AnUnansweredOneIsStoppedAndTriedAgain) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_spec("web").restart(RestartMode::Never)}));
  driver.wait(60s - 1us);
  EXPECT_TRUE(driver.actions<Stop>().empty());
  driver.wait(1us);
  ASSERT_EQ(driver.actions<Stop>().size(), 1U);
  EXPECT_EQ(driver.actions<Stop>()[0].run, kFirst);
  EXPECT_EQ(driver.status("web").state, InstanceState::Failed);
  driver.tell(Started{key_of("web"), kFirst});  // too late
  EXPECT_TRUE(driver.actions<Start>().empty());
  driver.tell(web_exited(kFirst, 0));
  driver.wait(1s);
  EXPECT_EQ(driver.started_run(), (RunId{number(1), 1}));
}

TEST(Start, AComponentMayTakeLongerBecauseItIsInstalledFirst) {
  Config config = a_config();
  config.component_start_timeout = 30min;
  Driver driver = a_driver({a_runtime("rootfs")}, config);
  driver.tell(a_full_command(1, {a_spec("os").type(model::ItemType::Component).on("rootfs")}));
  driver.wait(30min - 1us);
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_EQ(driver.status("os").state, InstanceState::Activating);
  driver.wait(1us);
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
}

TEST(Start, AComponentThatCouldNotBeUpdatedCanGoBackToItsOldVersion) {
  const auto os = [](const std::string& version) {
    return a_spec("os").type(model::ItemType::Component).on("rootfs").version(version);
  };
  Driver driver = a_driver({a_runtime("rootfs")});
  driver.tell(a_full_command(1, {os("1")}));
  driver.tell(Started{key_of("os"), kFirst});
  driver.tell(a_full_command(2, {os("2")}));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
  driver.tell(Exited{key_of("os"), kFirst, 0});
  driver.tell(StartFailed{key_of("os"), driver.started_run(), {"NotConfirmed", "1 is active"}});
  EXPECT_EQ(driver.status("os").state, InstanceState::Failed);
  EXPECT_EQ(driver.status("os").version, "2");
  EXPECT_EQ(driver.status("os").problem.reason, "NotConfirmed");
  driver.tell(a_full_command(3, {os("1")}));
  driver.tell(Started{key_of("os"), driver.started_run()});
  EXPECT_EQ(driver.status("os").state, InstanceState::Active);
  EXPECT_EQ(driver.status("os").version, "1");
}

TEST(Stop, AnUnansweredOneIsSentAgain) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_full_command(2, {}));
  driver.wait(70s - 1us);
  EXPECT_TRUE(driver.actions<Stop>().empty());
  driver.wait(1us);
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
  driver.wait(70s);
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
  EXPECT_TRUE(driver.status("web").stopping);
}

TEST(Stop, AStartThatFailsWhileItIsStoppedIsGone) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_spec("web")}));
  driver.tell(a_full_command(2, {}));
  EXPECT_EQ(driver.status("web").state, InstanceState::Activating);
  driver.tell(StartFailed{key_of("web"), kFirst, {}});
  EXPECT_FALSE(driver.is_shown("web"));
  EXPECT_TRUE(driver.noted("stopped"));
}

TEST(Stop, ADroppedOneThatWaitsForItsRestartIsGoneAtOnce) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(web_exited(kFirst, 1));
  driver.tell(a_full_command(2, {}));
  EXPECT_FALSE(driver.is_shown("web"));
  driver.wait(1h);
  EXPECT_TRUE(driver.actions<Start>().empty());
}

TEST(Readiness, AStartOnARuntimeThatIsNotReadyIsRefused) {
  Driver driver = a_driver({a_runtime("crun", Readiness::NotReady)});
  driver.tell(a_full_command(1, {a_spec("web")}));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_EQ(driver.status("web").state, InstanceState::Failed);
  EXPECT_EQ(driver.status("web").problem,
            (model::Problem{"RuntimeNotReady", "runtime crun is NotReady",
                            model::Hindrance::RuntimeNotReady}));
  EXPECT_TRUE(driver.noted("start refused"));
  driver.tell(a_node({a_runtime("crun", Readiness::Unknown)}));
  EXPECT_EQ(driver.status("web").problem.message, "runtime crun is Unknown");
}

TEST(Readiness, ARefusedStartIsMadeTheMomentTheRuntimeIsReady) {
  Driver driver = a_driver({a_runtime("crun", Readiness::NotReady)});
  driver.tell(a_full_command(1, {a_spec("low"), a_spec("web").priority(5)}));
  driver.tell(a_node());
  EXPECT_EQ(driver.started_items(), (Items{"web", "low"}));
  EXPECT_EQ(driver.status("web").state, InstanceState::Activating);
  EXPECT_EQ(driver.status("web").restarts, 0U);
}

// The controller must not learn of one without the other: it would send the instance there again.
TEST(Readiness, ARefusalSaysWhatTheRuntimeIsAndGoesOutWithItsNewState) {
  Driver driver = a_driver();
  model::Runtime broken = a_runtime("crun", model::Readiness::NotReady);
  broken.reason = "ComputeNotReady";
  broken.message = "crun is not installed";
  driver.tell(a_node({broken}), a_full_command(1, {a_spec("web")}));
  ASSERT_TRUE(driver.report().node);
  EXPECT_EQ(driver.report().node->runtimes, std::vector{broken});
  ASSERT_EQ(driver.report().instances.size(), 1U);
  const model::Problem problem = driver.report().instances[0].problem;
  EXPECT_EQ(problem.reason, "RuntimeNotReady");
  EXPECT_EQ(problem.message, "runtime crun is NotReady (ComputeNotReady): crun is not installed");
}

TEST(Readiness, ARefusalFollowsWhatIsKnownOfTheRuntime) {
  Driver driver = a_driver({a_runtime("crun", model::Readiness::NotReady)});
  driver.tell(a_full_command(1, {a_spec("web")}));
  model::Runtime hanging = a_runtime("crun", model::Readiness::Unknown);
  hanging.reason = "ProbeTimeout";
  driver.tell(a_node({hanging}));
  EXPECT_EQ(driver.status("web").problem.message, "runtime crun is Unknown (ProbeTimeout)");
}

TEST(Readiness, AChangeIsReportedInTheStepThatLearnsOfIt) {
  Driver driver = a_driver();
  driver.tell(a_node({a_runtime("crun", model::Readiness::NotReady)}));
  ASSERT_TRUE(driver.report().node);
  EXPECT_EQ(driver.report().node->runtimes[0].ready, model::Readiness::NotReady);
}

TEST(Readiness, WhatRunsOnARuntimeThatIsTakenAwayGoesOnAndIsStillThereWhenItComesBack) {
  Driver driver = a_driver_running(a_spec("web"));
  const RunId run{number(1), 0};
  driver.tell(a_node({a_runtime("other")}), a_list("other"));
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_EQ(driver.status("web").state, model::InstanceState::Active);
  driver.tell(a_node({a_runtime("crun"), a_runtime("other")}));
  EXPECT_EQ(driver.actions<ListRuns>().size(), 1U);
  driver.tell(a_list("crun", {a_found("web", run)}));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_EQ(driver.status("web").state, model::InstanceState::Active);
}

TEST(Readiness, ARestartIsRefusedToo) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(web_exited(kFirst, 1), a_node({a_runtime("crun", Readiness::NotReady)}));
  EXPECT_EQ(driver.status("web").problem.reason, "Exited");
  driver.wait(1s);
  EXPECT_EQ(driver.status("web").problem.reason, "RuntimeNotReady");
  driver.wait(1h);
  EXPECT_TRUE(driver.actions<Start>().empty());
  driver.tell(a_node());
  EXPECT_EQ(driver.started_items(), Items{"web"});
}

TEST(Readiness, ATolerantItemIsStartedAnyway) {
  Driver driver = a_driver({a_runtime("crun", Readiness::Unknown)});
  driver.tell(a_full_command(1, {a_spec("cni").tolerates(model::Toleration::RuntimeNotReady)}));
  EXPECT_EQ(driver.started_items(), Items{"cni"});
}

TEST(Readiness, RunningInstancesAreNeverTouched) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_node({a_runtime("crun", Readiness::NotReady)}));
  driver.tell(a_node({}));
  EXPECT_TRUE(driver.effects().actions.empty());
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
}

TEST(Readiness, ARuntimeThatDoesNotExistIsNamedAndWaitedFor) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_spec("guest").on("vm")}));
  EXPECT_EQ(driver.status("guest").problem,
            (model::Problem{"NoSuchRuntime", "the node has no runtime vm"}));
  driver.tell(a_node({a_runtime("crun"), a_runtime("vm")}));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_EQ(driver.status("guest").state, InstanceState::Activating);
  driver.tell(a_list("vm"));
  EXPECT_EQ(driver.started_items(), Items{"guest"});
}

TEST(Readiness, WhatMayBeRunningIsNotCalledFailedBeforeItsRuntimeHadItsTimeToTell) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.restart();
  driver.tell(Connected{2}, a_node({a_runtime("crun", Readiness::Unknown)}));
  driver.wait(3s);  // nothing is told before
  EXPECT_EQ(driver.status("web").state, InstanceState::Activating);
  driver.wait(60s);
  EXPECT_EQ(driver.status("web").problem.reason, "RuntimeNotReady");
  driver.tell(a_list("crun", {a_found("web", kFirst)}));
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
}

}  // namespace
}  // namespace berth::agent
