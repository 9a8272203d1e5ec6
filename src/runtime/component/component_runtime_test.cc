#include "runtime/component/testing.h"

namespace berth::runtime {
namespace {

class ComponentConformance : public ComponentTest, public testing::WithParamInterface<RuntimeType> {
 protected:
  void SetUp() override { open_component(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Component, ComponentConformance,
                         testing::Values(RuntimeType::Rootfs, RuntimeType::Boot,
                                         RuntimeType::Firmware),
                         name_of_type);

TEST_P(ComponentConformance, IsReadyOnceProbedAndHasRoomForOne) {
  EXPECT_EQ(runtime().describe().ready, model::Readiness::Unknown);
  const ProbeResult probed = runtime().probe(kPatience);
  EXPECT_EQ(probed.readiness(), model::Readiness::Ready) << probed.message;
  EXPECT_EQ(runtime().describe().type, GetParam());
  EXPECT_EQ(runtime().describe().limits.instances, 1U);
  EXPECT_NE(runtime().describe().platform.arch, "");
}

TEST_P(ComponentConformance, SaysWhyNothingCanBeInstalledHere) {
  confirm_by({"/no/such/program"});
  EXPECT_EQ(runtime().probe(kPatience).readiness(), model::Readiness::NotReady);
  EXPECT_EQ(runtime().probe(kPatience).message,
            "/no/such/program, which confirms updates, cannot be run");
  config_.components.directory = "/proc/components";
  open(GetParam());
  EXPECT_EQ(runtime().probe(kPatience).readiness(), model::Readiness::NotReady);
  EXPECT_THAT(runtime().probe(kPatience).message, HasSubstr("cannot make /proc/components"));
  config_.components = {};
  restart_agent();
}

TEST_P(ComponentConformance, InstallsAVersionAndListsIt) {
  start(version("1"));
  EXPECT_EQ(active(), "1");
  EXPECT_THAT(list(), ElementsAre(found(version("1"))));
}

TEST_P(ComponentConformance, FindsAgainWhatItInstalledInAnEarlierLife) {
  start(version("1"));
  restart_agent();
  EXPECT_THAT(list(), ElementsAre(found(version("1"))));
  EXPECT_EQ(active(), "1");
}

TEST_P(ComponentConformance, EachVersionTakesThePlaceOfTheOneBefore) {
  for (std::uint32_t number = 1; number <= 4; ++number) {
    const auto spec = version(std::to_string(number));
    start(spec, number);
    EXPECT_EQ(active(), std::to_string(number));
    EXPECT_THAT(list(), ElementsAre(found(spec, number)));
    stop(spec, number);
  }
}

TEST_P(ComponentConformance, AStopOnlyEndsTheRun) {
  start(version("1"));
  stop(version("1"));
  EXPECT_EQ(active(), "1");
  EXPECT_THAT(list(), IsEmpty());
  restart_agent();
  EXPECT_EQ(active(), "1");
  EXPECT_THAT(list(), IsEmpty());
}

TEST_P(ComponentConformance, TellsAtOnceThatAnUnknownRunIsOver) {
  runtime().stop(version("1").key, run(3), 1h);
  EXPECT_TRUE(ends().wait_for(version("1").key, run(3)));
}

TEST_P(ComponentConformance, WhatIsInstalledIsNotInstalledAgain) {
  const auto spec = version("1");
  start(spec, 0);
  stop(spec, 0);
  std::filesystem::remove(image("1"));
  std::filesystem::remove_all(config_.state_dir / "staged");
  start(spec, 1);
  EXPECT_EQ(active(), "1");
  EXPECT_FALSE(std::filesystem::exists(config_.state_dir / "staged"));
  EXPECT_THAT(list(), ElementsAre(found(spec, 1)));
}

TEST_P(ComponentConformance, AVersionThatIsNotConfirmedLeavesTheOldOneActiveAndSaysSo) {
  start(version("1"), 0);
  confirm_by({"/bin/false"});
  stop(version("1"), 0);
  const model::Problem problem = start_fails(version("2"), 1);
  EXPECT_EQ(problem.reason, "NotConfirmed");
  EXPECT_THAT(problem.message, HasSubstr("os 1 is active"));
  EXPECT_EQ(active(), "1");
  EXPECT_THAT(list(), IsEmpty());
}

TEST_P(ComponentConformance, TheOldVersionCanBeAskedForAgainAfterAFailedUpdate) {
  start(version("1"), 0);
  confirm_by({"/bin/false"});
  stop(version("1"), 0);
  start_fails(version("2"), 1);
  start(version("1"), 2);
  EXPECT_EQ(active(), "1");
  EXPECT_THAT(list(), ElementsAre(found(version("1"), 2)));
}

TEST_P(ComponentConformance, AFirstVersionThatFailsIsNotKept) {
  confirm_by({"/bin/false"});
  EXPECT_EQ(start_fails(version("1")).reason, "NotConfirmed");
  EXPECT_THAT(list(), IsEmpty());
  if (GetParam() == RuntimeType::Firmware) return;  // what it was before is its own business
  EXPECT_EQ(active(), "");
}

TEST_P(ComponentConformance, AVersionThatIsNotConfirmedInTimeIsRolledBack) {
  start(version("1"), 0);
  confirm_by({"/bin/sleep", "1000"}, 100ms);
  stop(version("1"), 0);
  EXPECT_EQ(start_fails(version("2"), 1).reason, "NotConfirmed");
  EXPECT_EQ(active(), "1");
}

TEST_P(ComponentConformance, TheProgramThatConfirmsSeesWhatItIsAbout) {
  const auto note = config_.state_dir / "confirmed";
  confirm_by(shell({"shift; echo \"$@\" > " + note.string()}));
  start(version("1"));
  EXPECT_THAT(content_of(note), HasSubstr("1"));
}

TEST_P(ComponentConformance, TheHealthCheckOfTheItemConfirmsAVersion) {
  start(version("1"), 0);
  stop(version("1"), 0);
  auto spec = version("2");
  const auto healthy = config_.state_dir / "healthy";
  spec.item.health = model::HealthCheck{
      model::ExecCheck{{"/bin/sh", "-c", "test -e " + healthy.string()}}, 10ms, 2};
  EXPECT_EQ(start_fails(spec, 1).reason, "NotConfirmed");
  EXPECT_EQ(active(), "1");
  write(healthy, "");
  start(spec, 2);
  EXPECT_EQ(active(), "2");
}

TEST_P(ComponentConformance, ChecksThatFailWhileAVersionComesUpDoNotCount) {
  const auto spec = [&] {
    auto built = version("1");
    const auto tries = (config_.state_dir / "tries").string();
    const std::string third = "echo >> " + tries + "; [ $(wc -l < " + tries + ") -ge 3 ]";
    built.item.health = model::HealthCheck{model::ExecCheck{{"/bin/sh", "-c", third}}, 10ms, 1};
    built.item.health->start_period = 1min;
    return built;
  }();
  start(spec, 0);
  EXPECT_EQ(active(), "1");
}

TEST_P(ComponentConformance, TheNextLifeGoesBackFromAVersionThatWasBeingTried) {
  start(version("1"), 0);
  stop(version("1"), 0);
  start(version("2"), 1);
  ASSERT_EQ(active(), "2");
  // As it was just before version 2 was confirmed.
  auto state = load_slots(directory()).value().value();
  state.phase = Phase::Trying;
  state.confirmed = other(*state.confirmed);
  ASSERT_TRUE(save_slots(directory(), state));
  restart_agent();
  EXPECT_EQ(active(), "1");
  EXPECT_THAT(list(), IsEmpty()) << "the run of version 1 had ended";
  start(version("2"), 2);
  EXPECT_EQ(active(), "2");
}

TEST_P(ComponentConformance, AStopInterruptsAnUpdateWhichIsRolledBack) {
  start(version("1"), 0);
  const auto trying = config_.state_dir / "trying";
  confirm_by(shell({"touch " + trying.string() + "; exec sleep 1000"}));
  stop(version("1"), 0);
  const auto spec = version("2");
  std::thread starting([&] { start_fails(spec, 1); });
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(trying); }));
  EXPECT_EQ(active(), "2");
  stop(spec, 1);
  starting.join();
  EXPECT_EQ(active(), "1");
}

TEST_P(ComponentConformance, AnAgentThatLeavesDoesNotWaitForAConfirmation) {
  const auto trying = config_.state_dir / "trying";
  confirm_by(shell({"touch " + trying.string() + "; exec sleep 1000"}));
  const auto spec = version("1");
  std::thread starting([&] { start_fails(spec); });
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(trying); }));
  runtime().leave();
  starting.join();
}

TEST_P(ComponentConformance, AnotherInstanceIsRefusedWhileOneIsInstalled) {
  start(version("1"), 0);
  auto another = version("1");
  another.key.item = model::ItemId{"another"};
  const model::Problem problem = start_fails(another, 0);
  EXPECT_EQ(problem.reason, "SlotTaken");
  EXPECT_THAT(problem.message, HasSubstr("os/vehicle/0"));
  stop(version("1"), 0);
  start(another, 1);
}

TEST_P(ComponentConformance, WhatWasPreinstalledIsListedAndGivesWay) {
  start(version("1"), 0);
  close();
  auto state = load_slots(directory()).value().value();
  state.a->found.run = {};
  state.a->found.key.item = model::ItemId{"factory"};
  ASSERT_TRUE(save_slots(directory(), state));
  restart_agent();
  const model::FoundRun preinstalled = state.a->found;
  EXPECT_THAT(list(), ElementsAre(preinstalled));
  runtime().stop(preinstalled.key, preinstalled.run, 1s);
  EXPECT_TRUE(ends().wait_for(preinstalled.key, preinstalled.run));
  restart_agent();
  EXPECT_THAT(list(), ElementsAre(preinstalled)) << "it was never ours to end";

  start(version("2"), 1);
  EXPECT_EQ(active(), "2");
  const auto end = ends().wait_for(preinstalled.key, preinstalled.run);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->problem.reason, "Replaced");
  EXPECT_THAT(list(), ElementsAre(found(version("2"), 1)));
}

TEST_P(ComponentConformance, RefusesWhatComponentsCannotDo) {
  start(version("1"));
  const auto key = version("1").key;
  EXPECT_EQ(runtime().pause(key).error().code, Code::InvalidInput);
  EXPECT_EQ(runtime().resume(key).error().code, Code::InvalidInput);
  const auto entered = runtime().exec(key, {.command = {"/bin/true"}}, {});
  EXPECT_EQ(entered.error().code, Code::InvalidInput);
  EXPECT_THAT(entered.error().message, HasSubstr("os/vehicle/0 is a component"));
  EXPECT_THAT(runtime().measure(), IsEmpty());
}

TEST_P(ComponentConformance, KnowsNothingOfInstancesThatAreNotInstalled) {
  const auto key = version("1").key;
  EXPECT_EQ(runtime().pause(key).error().code, Code::NotFound);
  EXPECT_EQ(runtime().exec(key, {.command = {"/bin/true"}}, {}).error().code, Code::NotFound);
}

TEST_P(ComponentConformance, AnImageOfAnotherFormIsAProblem) {
  auto spec = version("1");
  spec.item.images.front().form = model::CommandImage{{"/bin/true"}};
  EXPECT_EQ(start_fails(spec).reason, "ImageInvalid");
}

TEST_P(ComponentConformance, ADamagedStateIsAClearErrorAndNothingIsTouched) {
  start(version("1"));
  close();
  write(directory() / "state.json", "{\"phase\": ");
  open(GetParam());
  EXPECT_FALSE(runtime().list());
  EXPECT_EQ(runtime().probe(kPatience).readiness(), model::Readiness::NotReady);
  EXPECT_THAT(runtime().probe(kPatience).message, HasSubstr("state.json is damaged"));
  EXPECT_EQ(start_fails(version("2"), 1).reason, "StorageFailed");
  EXPECT_EQ(active(), "1");
  std::filesystem::remove(directory() / "state.json");  // as the message says
}

}  // namespace
}  // namespace berth::runtime
