#include <gtest/gtest.h>

#include "agent/driver.h"

// An image is fetched before anything is stopped for what needs it.
namespace berth::agent {
namespace {

using model::InstanceState;

const model::InstanceKey kWeb = key_of("web");

SpecBuilder a_container(const std::string& version = "1") {
  return a_spec("web").version(version).image("docker://registry/web:" + version);
}

Prepared prepared(const Driver& driver) {
  const auto orders = driver.actions<Prepare>();
  CHECK(orders.size() == 1, "the test expects one order to prepare");
  return {orders[0].spec.key, orders[0].generation, orders[0].order};
}

PrepareFailed not_prepared(const Driver& driver, const model::Problem& problem) {
  const Prepared answer = prepared(driver);
  return {answer.key, answer.generation, answer.order, problem};
}

Driver a_driver_running_version_1(const model::InstanceSpec& spec = a_container()) {
  Driver driver = a_driver();
  CommandReceived command = a_full_command(1, {spec});
  command.command.network = {.networks = {model::ProviderNetwork{}}, .names = {}, .flows = {}};
  driver.tell(command);
  driver.tell(prepared(driver));
  driver.tell(Started{kWeb, driver.started_run()});
  return driver;
}

// Version 1 has the only one; version 2, which is being fetched, will not need it, but another
// does.
Driver a_driver_giving_the_gpu_away() {
  Driver driver = a_driver();
  NodeObserved node = a_node();
  node.info.shared_resources = {{"gpu", 1}};
  driver.tell(node, a_full_command(1, {a_container().holding("gpu")}));
  driver.tell(prepared(driver));
  driver.tell(Started{kWeb, driver.started_run()});
  driver.tell(a_partial_command(2, {a_container("2"), a_spec("other").holding("gpu")}));
  return driver;
}

TEST(Prepare, AnImageIsFetchedBeforeItsInstanceIsStarted) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_container()}));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_EQ(driver.status("web").state, InstanceState::Activating);
  EXPECT_EQ(driver.status("web").problem,
            (model::Problem{"Pulling", "docker://registry/web:1 is being fetched",
                            model::Hindrance::BeingFetched}));
  driver.tell(prepared(driver));
  EXPECT_EQ(driver.started_items(), std::vector<std::string>{"web"});
  EXPECT_EQ(driver.status("web").problem, model::Problem{});
}

TEST(Prepare, WhatNeedsNoImageIsStartedAtOnce) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_spec("web")}));
  EXPECT_TRUE(driver.actions<Prepare>().empty());
  EXPECT_EQ(driver.started_items(), std::vector<std::string>{"web"});
}

TEST(Prepare, AnUpdatedInstanceRunsOnUntilTheNewImageIsThere) {
  Driver driver = a_driver_running_version_1();
  driver.tell(a_partial_command(2, {a_container("2")}));
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_EQ(driver.status("web").version, "2");
  EXPECT_EQ(driver.status("web").state, InstanceState::Activating);
  EXPECT_EQ(driver.status("web").problem,
            (model::Problem{
                "Pulling",
                "docker://registry/web:2 is being fetched; version 1 runs on until it is there",
                model::Hindrance::BeingFetched}));
  const Prepared answer = prepared(driver);
  driver.wait(10min);
  EXPECT_TRUE(driver.actions<Stop>().empty());
  driver.tell(answer);
  ASSERT_EQ(driver.actions<Stop>().size(), 1U);
  EXPECT_TRUE(driver.actions<Start>().empty());
  driver.tell(Exited{kWeb, driver.actions<Stop>()[0].run, 0});
  EXPECT_EQ(driver.started_run(), (RunId{number(2), 0}));
}

TEST(Prepare, AnImageThatCannotBeFetchedStopsNothingAndIsTriedAgain) {
  Driver driver = a_driver_running_version_1(a_container().backoff(1s, 4s));
  driver.tell(a_partial_command(2, {a_container("2").backoff(1s, 4s)}));
  for (const Duration wait : {1s, 2s, 4s, 4s}) {
    driver.tell(not_prepared(driver, {"ImagePullFailed", "no route"}));
    EXPECT_EQ(driver.status("web").state, InstanceState::Failed);
    EXPECT_EQ(driver.status("web").problem,
              (model::Problem{"ImagePullFailed",
                              "the image was not fetched: no route; next try in " + to_text(wait) +
                                  "; version 1 runs on until it is there"}));
    EXPECT_TRUE(driver.actions<Stop>().empty());
    driver.wait(wait - 1us);
    EXPECT_TRUE(driver.actions<Prepare>().empty());
    driver.wait(1us);
    EXPECT_EQ(driver.status("web").problem.reason, "Pulling");
  }
  driver.tell(prepared(driver));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
}

TEST(Prepare, WhoGoesBackToWhatStillRunsFindsItRunning) {
  Driver driver = a_driver_running_version_1();
  driver.tell(a_partial_command(2, {a_container("2")}));
  const Prepared late = prepared(driver);
  driver.tell(a_partial_command(3, {a_container("3")}));
  driver.tell(a_partial_command(4, {a_container("1")}));
  EXPECT_TRUE(driver.effects().actions.empty());
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
  driver.tell(late);
  EXPECT_TRUE(driver.actions<Stop>().empty());

  driver.restart();
  driver.tell(Connected{2}, a_node(), a_list("crun", {a_found("web", {number(1), 0})}));
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
  driver.tell(Exited{kWeb, {number(1), 0}, 1});
  driver.wait(1min);
  driver.tell(prepared(driver));
  EXPECT_EQ(driver.started_run(), (RunId{number(1), 1}));
}

TEST(Prepare, WhoGoesBackToWhatHasBeenStoppedStartsItAnew) {
  Driver driver = a_driver_running_version_1();
  driver.tell(a_partial_command(2, {a_container("2")}));
  driver.tell(prepared(driver));
  driver.tell(a_partial_command(3, {a_container("1")}));
  driver.tell(Exited{kWeb, {number(1), 0}, 0}, prepared(driver));
  EXPECT_EQ(driver.started_run(), (RunId{number(3), 0}));
}

TEST(Prepare, AJobWhoseImageIsNotThereHasNotRun) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_container().restart(model::RestartMode::Never)}));
  driver.tell(not_prepared(driver, {"ImageNotFound", "no such image"}));
  EXPECT_FALSE(driver.status("web").finished);
  driver.wait(1min);
  EXPECT_FALSE(driver.actions<Prepare>().empty());
}

TEST(Prepare, WhatIsNotAnsweredInItsLongTimeIsAskedForAgain) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_container()}));
  driver.wait(a_config().prepare_timeout - 1us);
  EXPECT_TRUE(driver.actions<Prepare>().empty());
  driver.wait(1us);
  EXPECT_EQ(driver.status("web").problem.reason, "ImagePullFailed");
  driver.wait(1min);
  EXPECT_EQ(driver.actions<Prepare>().size(), 1U);
}

TEST(Prepare, AnAnswerForAnEarlierGenerationIsIgnored) {
  Driver driver = a_driver_running_version_1();
  driver.tell(a_partial_command(2, {a_container("2")}));
  const Prepared late = prepared(driver);
  driver.tell(a_partial_command(3, {a_container("3")}));
  const Prepared answer = prepared(driver);
  driver.tell(late);
  EXPECT_TRUE(driver.actions<Stop>().empty());
  driver.tell(answer);
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
}

TEST(Prepare, ALateFailureOfAnEarlierTryChangesNothing) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_container().backoff(1s, 4s)}));
  const PrepareFailed failure = not_prepared(driver, {"ImagePullFailed", "no route"});
  driver.tell(failure);
  driver.wait(1s);
  EXPECT_EQ(driver.actions<Prepare>().size(), 1U);
  driver.tell(failure);
  EXPECT_EQ(driver.status("web").problem.reason, "Pulling");
}

TEST(Prepare, WhatIsFetchedIsNotAskedForAgainWhenItIsRestarted) {
  Driver driver = a_driver_running_version_1(a_container().backoff(1s, 4s));
  driver.tell(Exited{kWeb, {number(1), 0}, 1});
  driver.wait(1s);
  EXPECT_TRUE(driver.actions<Prepare>().empty());
  EXPECT_EQ(driver.started_run(), (RunId{number(1), 1}));
}

TEST(Prepare, ARunOfAnEarlierLifeRunsOnUntilTheNewImageIsThere) {
  Driver driver = a_driver_running_version_1();
  driver.tell(a_partial_command(2, {a_container("2")}));
  driver.restart();
  driver.tell(Connected{2}, a_node(), a_list("crun", {a_found("web", {number(1), 0})}));
  EXPECT_TRUE(driver.actions<Stop>().empty());
  driver.tell(prepared(driver));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
}

TEST(Prepare, ARunThatIsAdoptedNeedsNoImage) {
  Driver driver = a_driver_running_version_1();
  driver.restart();
  driver.tell(Connected{2}, a_node(), a_list("crun", {a_found("web", {number(1), 0})}));
  EXPECT_TRUE(driver.effects().actions.empty() || driver.actions<Prepare>().empty());
  EXPECT_EQ(driver.status("web").state, InstanceState::Active);
}

// Whoever needs no address has given it back: somebody else may get it.
TEST(Prepare, WhatHasAnAddressThatTheNewVersionDoesNotHaveIsStoppedAtOnce) {
  Driver driver = a_driver_running_version_1(a_container().networked());
  driver.tell(a_partial_command(2, {a_container("2")}));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
}

TEST(Prepare, WhatIsNoLongerWantedIsStoppedWhileItsImageIsFetched) {
  Driver driver = a_driver_running_version_1();
  driver.tell(a_partial_command(2, {a_container("2")}));
  driver.tell(a_partial_command(3, {}, {kWeb}));
  ASSERT_EQ(driver.actions<Stop>().size(), 1U);
  driver.tell(Exited{kWeb, {number(1), 0}, 0});
  EXPECT_FALSE(driver.is_shown("web"));
  driver.wait(1h);
  EXPECT_TRUE(driver.actions<Prepare>().empty());
}

TEST(Prepare, NothingIsFetchedForARuntimeThatIsNotReady) {
  Driver driver = a_driver_running_version_1();
  driver.tell(a_node({a_runtime("crun", model::Readiness::NotReady)}),
              a_partial_command(2, {a_container("2")}));
  EXPECT_TRUE(driver.actions<Prepare>().empty());
  EXPECT_TRUE(driver.actions<Stop>().empty());
  EXPECT_EQ(driver.status("web").problem.reason, "RuntimeNotReady");
  driver.tell(a_node());
  EXPECT_EQ(driver.actions<Prepare>().size(), 1U);
}

TEST(Prepare, WhoNeedsWhatTheOldVersionHoldsWaitsForItsEnd) {
  Driver driver = a_driver_giving_the_gpu_away();
  EXPECT_TRUE(driver.actions<Start>().empty());
  driver.tell(prepared(driver));
  EXPECT_TRUE(driver.actions<Start>().empty());
  driver.tell(Exited{kWeb, {number(1), 0}, 0});
  EXPECT_EQ(driver.started_items(), (std::vector<std::string>{"web", "other"}));
}

// The copy that is here was on trial, and another one serves.
TEST(Prepare, WhatComesWithAStateReplacesWhatDoesNotCount) {
  Driver driver = a_driver_running_version_1();
  CommandReceived update = a_partial_command(2, {a_container("2")});
  update.command.states = {{.key = kWeb, .generation = 1, .digest = "d", .content = "c"}};
  driver.tell(update);
  ASSERT_EQ(driver.actions<Stop>().size(), 1U);
  driver.tell(Exited{kWeb, {number(1), 0}, 0}, prepared(driver));
  ASSERT_EQ(driver.actions<Start>().size(), 1U);
  EXPECT_EQ(driver.actions<Start>()[0].state->content, "c");
}

TEST(Prepare, AnOldVersionThatEndsMeanwhileIsStartedAgain) {
  Driver driver = a_driver_running_version_1(a_container().backoff(1s, 4s));
  driver.tell(a_partial_command(2, {a_container("2")}));
  const Prepared answer = prepared(driver);
  driver.tell(Exited{kWeb, {number(1), 0}, 1});
  EXPECT_EQ(driver.status("web").problem.message,
            "docker://registry/web:2 is being fetched; "
            "version 1 does not run: exited with code 1; next try in 1s");
  driver.wait(1s);
  ASSERT_EQ(driver.started_run(), (RunId{number(1), 1}));
  driver.tell(Started{kWeb, {number(1), 1}});
  EXPECT_EQ(driver.status("web").version, "2");
  EXPECT_EQ(driver.status("web").state, InstanceState::Activating);
  driver.tell(answer);
  ASSERT_EQ(driver.actions<Stop>().size(), 1U);
  driver.tell(Exited{kWeb, {number(1), 1}, 0});
  EXPECT_EQ(driver.started_run(), (RunId{number(2), 0}));
}

TEST(Prepare, AnOldVersionThatIsDoneMeanwhileIsNotStartedAgain) {
  Driver driver = a_driver_running_version_1(a_container().restart(model::RestartMode::Never));
  driver.tell(a_partial_command(2, {a_container("2").restart(model::RestartMode::Never)}));
  const Prepared answer = prepared(driver);
  driver.tell(Exited{kWeb, {number(1), 0}, 0});
  driver.wait(1min);
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_FALSE(driver.status("web").finished);
  driver.tell(answer);
  EXPECT_EQ(driver.started_run(), (RunId{number(2), 0}));
}

// With no link the new image does not come.
TEST(Prepare, AfterAPowerCutTheOldVersionIsStartedUntilTheNewImageIsThere) {
  Driver driver = a_driver_running_version_1();
  driver.tell(a_partial_command(2, {a_container("2")}));
  driver.restart();
  driver.tell(a_node(), a_list("crun"));
  auto orders = driver.actions<Prepare>();
  ASSERT_EQ(orders.size(), 2U);
  driver.tell(Prepared{kWeb, orders[0].generation, orders[0].order},
              PrepareFailed{kWeb, orders[1].generation, orders[1].order, {"", "no route"}});
  EXPECT_EQ(driver.started_run(), (RunId{number(1), 0}));
  driver.tell(Started{kWeb, {number(1), 0}}, Connected{2});
  EXPECT_EQ(driver.status("web").version, "2");
  EXPECT_EQ(driver.status("web").problem,
            (model::Problem{"ImagePullFailed",
                            "the image was not fetched: no route; next try in 1s; "
                            "version 1 runs on until it is there"}));
}

TEST(Prepare, WhatRunsOnIsStillCheckedAndPaused) {
  Driver driver = a_driver_running_version_1(a_container().checked_every(5s, 1));
  driver.tell(HealthChecked{kWeb, {number(1), 0}, true, ""});
  driver.tell(a_partial_command(2, {a_container("2").checked_every(5s, 1)}));
  driver.wait(5s);
  EXPECT_EQ(driver.actions<CheckHealth>().size(), 1U);
  driver.tell(HealthChecked{kWeb, {number(1), 0}, true, ""});
  driver.tell(a_partial_command(3, {a_container("2").checked_every(5s, 1).paused()}));
  EXPECT_EQ(driver.actions<SetPausing>().size(), 1U);
  EXPECT_TRUE(driver.actions<Prepare>().empty());
}

TEST(Prepare, AnOldVersionThatEndsIsNotStartedAgainWithWhatMayBeAnothersByNow) {
  Driver driver = a_driver_giving_the_gpu_away();
  driver.tell(Exited{kWeb, {number(1), 0}, 1});
  EXPECT_EQ(driver.started_items(), std::vector<std::string>{"other"});
  driver.wait(1min);
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_EQ(driver.status("web").problem.message, "docker://registry/web:2 is being fetched");
}

// --- Prepare only ------------------------------------------------------------------------------

TEST(PrepareOnly, TheImageIsFetchedAndNothingIsStarted) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_container().prepare_only()}));
  EXPECT_EQ(driver.status("web").problem.reason, "Pulling");
  driver.tell(prepared(driver));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_TRUE(driver.status("web").prepare_only);
  EXPECT_EQ(driver.status("web").state, InstanceState::Activating);
  EXPECT_EQ(driver.status("web").problem, model::Problem{}) << "all is there";
}

TEST(PrepareOnly, WhatNeedsNoImageIsPreparedAtOnce) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_spec("web").prepare_only()}));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_TRUE(driver.status("web").prepare_only);
  EXPECT_EQ(driver.status("web").problem, model::Problem{});
}

TEST(PrepareOnly, ItStartsWithTheStateThatComesWithTheOrderToRun) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_container().prepare_only()}));
  driver.tell(prepared(driver));
  CommandReceived order = a_partial_command(2, {a_container()});
  order.command.states = {{kWeb, 7, "digest", "content"}};
  driver.tell(order);
  driver.tell(prepared(driver));  // it is there, and is said so at once
  ASSERT_EQ(driver.actions<Start>().size(), 1U);
  ASSERT_TRUE(driver.actions<Start>()[0].state.has_value());
  EXPECT_EQ(driver.actions<Start>()[0].state->content, "content");
  EXPECT_FALSE(driver.status("web").prepare_only);
}

TEST(PrepareOnly, AnImageThatCannotBeFetchedIsAFailure) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_container().prepare_only()}));
  driver.tell(not_prepared(driver, {"", "no such image"}));
  EXPECT_EQ(driver.status("web").state, InstanceState::Failed);
  EXPECT_EQ(driver.status("web").problem.reason, "ImagePullFailed");
}

TEST(PrepareOnly, ARuntimeThatIsNotReadyIsAFailureUntilItIs) {
  Driver driver = a_driver();
  driver.tell(a_node({a_runtime("crun", model::Readiness::NotReady)}),
              a_full_command(1, {a_spec("web").prepare_only()}));
  EXPECT_EQ(driver.status("web").problem.reason, "RuntimeNotReady");
  driver.tell(a_node());
  EXPECT_EQ(driver.status("web").problem, model::Problem{});
}

TEST(PrepareOnly, WhatRunsThereFromAnEarlierTimeIsStopped) {
  Driver driver = a_driver_running_version_1();
  driver.tell(a_partial_command(2, {a_container().prepare_only()}));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
  EXPECT_TRUE(driver.status("web").prepare_only);
}

TEST(PrepareOnly, ItIsPreparedAnewAfterARestartOfTheAgentAndNotStarted) {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_container().prepare_only()}));
  driver.tell(prepared(driver));
  driver.restart();
  driver.tell(Connected{2}, a_node(), a_list("crun"));
  driver.tell(prepared(driver));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_TRUE(driver.status("web").prepare_only);
}

}  // namespace
}  // namespace berth::agent
