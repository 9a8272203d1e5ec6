#include "runtime/component/slot_state.h"

#include <gtest/gtest.h>

#include <set>

namespace berth::runtime {
namespace {

model::InstanceKey key(const std::string& item) {
  return {model::ItemId{item}, model::SubjectId{"vehicle"}, 0};
}

Component a_component(const std::string& version, const std::string& item = "os") {
  return {.found = {key(item), {{1, 7}, 0}, model::ItemType::Component, version},
          .identity = "digest of " + version};
}

SlotState a_unit_running(const std::string& version) {
  return {.confirmed = Slot::A, .a = a_component(version)};
}

// An update to version 2, up to this phase.
SlotState updating(Phase phase, SlotState state = a_unit_running("1")) {
  state = with_candidate(std::move(state), a_component("2"));
  state = advance(state, Event::Asked).state;
  while (state.phase != phase && state.phase != Phase::Trying) {
    state = advance(state, Event::Succeeded).state;
  }
  if (phase == Phase::RollingBack) state = advance(state, Event::Failed).state;
  EXPECT_EQ(state.phase, phase);
  return state;
}

const std::set<Phase> kUnderWay{Phase::Writing, Phase::Verifying, Phase::Switching, Phase::Trying,
                                Phase::RollingBack};

std::string version_in_use(const SlotState& state) {
  const auto active = active_slot(state);
  return active && component_in(state, *active) ? component_in(state, *active)->found.version : "";
}

// As the runtime does after a restart, with steps that succeed.
SlotState recovered(SlotState state) {
  Advance next = advance(std::move(state), Event::Restarted);
  while (next.state.phase != Phase::Settled) {
    next = advance(std::move(next.state), Event::Succeeded);
  }
  return next.state;
}

TEST(SlotState, AnUpdateGoesThroughAllSteps) {
  SlotState state = with_candidate(a_unit_running("1"), a_component("2"));
  Advance next = advance(state, Event::Asked);
  std::vector<Step> steps{next.step};
  while (next.step != Step::None) {
    next = advance(next.state, Event::Succeeded);
    steps.push_back(next.step);
  }
  EXPECT_EQ(steps, (std::vector{Step::Write, Step::Verify, Step::Switch, Step::AwaitConfirmation,
                                Step::None}));
  EXPECT_EQ(next.state.phase, Phase::Settled);
  EXPECT_EQ(next.state.confirmed, Slot::B);
  EXPECT_EQ(version_in_use(next.state), "2");
}

TEST(SlotState, TheConfirmedSlotIsNeverTheOneThatIsWritten) {
  for (const Phase phase : kUnderWay) {
    const SlotState state = updating(phase);
    EXPECT_EQ(state.confirmed, Slot::A);
    EXPECT_EQ(spare_slot(state), Slot::B);
    EXPECT_EQ(component_in(state, Slot::A), a_component("1"));
  }
}

TEST(SlotState, TheNewVersionIsInUseExactlyWhileItIsTriedAndAfterItIsConfirmed) {
  EXPECT_EQ(version_in_use(updating(Phase::Writing)), "1");
  EXPECT_EQ(version_in_use(updating(Phase::Verifying)), "1");
  EXPECT_EQ(version_in_use(updating(Phase::Switching)), "2");
  EXPECT_EQ(version_in_use(updating(Phase::Trying)), "2");
  EXPECT_EQ(version_in_use(updating(Phase::RollingBack)), "1");
}

TEST(SlotState, ARestartBeforeTheConfirmationGoesBackToTheOldVersion) {
  for (const Phase phase : kUnderWay) {
    const SlotState state = recovered(updating(phase));
    EXPECT_EQ(version_in_use(state), "1");
    EXPECT_EQ(state, a_unit_running("1")) << "nothing is left of the new version";
  }
}

TEST(SlotState, ARestartAfterTheConfirmationKeepsTheNewVersion) {
  const SlotState confirmed = advance(updating(Phase::Trying), Event::Succeeded).state;
  EXPECT_EQ(recovered(confirmed), confirmed);
  EXPECT_EQ(version_in_use(confirmed), "2");
}

TEST(SlotState, AFailureBeforeTheSwitchOnlyDiscardsWhatWasWritten) {
  for (const Phase phase : {Phase::Writing, Phase::Verifying}) {
    const Advance next = advance(updating(phase), Event::Failed);
    EXPECT_EQ(next.step, Step::Discard);
    EXPECT_EQ(next.state, a_unit_running("1"));
  }
}

TEST(SlotState, AFailureAfterTheSwitchRollsBack) {
  for (const Phase phase : {Phase::Switching, Phase::Trying}) {
    Advance next = advance(updating(phase), Event::Failed);
    EXPECT_EQ(next.step, Step::RollBack);
    next = advance(next.state, Event::Succeeded);
    EXPECT_EQ(next.step, Step::Discard);
    EXPECT_EQ(next.state, a_unit_running("1"));
  }
}

TEST(SlotState, ARollBackThatFailsIsTriedAgainByTheNextLife) {
  const Advance failed = advance(updating(Phase::RollingBack), Event::Failed);
  EXPECT_EQ(failed.step, Step::None);
  EXPECT_EQ(failed.state.phase, Phase::RollingBack);
  EXPECT_EQ(advance(failed.state, Event::Restarted).step, Step::RollBack);
}

TEST(SlotState, IfNobodyKnowsWhatIsActiveNothingIsBelievedToBe) {
  const Advance next = advance(updating(Phase::RollingBack), Event::Lost);
  EXPECT_EQ(next.state, SlotState{});
  EXPECT_EQ(need_of(next.state, a_component("1")), Need::Install);
}

TEST(SlotState, TheFirstInstallationGoesBackToNothing) {
  for (const Phase phase : kUnderWay) {
    const SlotState state = updating(phase, SlotState{});
    EXPECT_EQ(spare_slot(state), Slot::A);
    EXPECT_EQ(recovered(state), SlotState{});
  }
  const SlotState done = advance(updating(Phase::Trying, SlotState{}), Event::Succeeded).state;
  EXPECT_EQ(version_in_use(done), "2");
}

TEST(SlotState, TheSlotOfAnUnknownSystemIsNotWrittenTo) {
  const SlotState factory{.confirmed = Slot::A};
  EXPECT_EQ(need_of(factory, a_component("2")), Need::Install);
  EXPECT_EQ(active_slot(updating(Phase::Writing, factory)), Slot::A);
  EXPECT_EQ(active_slot(updating(Phase::Trying, factory)), Slot::B);
}

TEST(SlotState, WhatIsConfirmedNeedsNothing) {
  Component again = a_component("1");
  again.found.run.attempt = 5;
  EXPECT_EQ(need_of(a_unit_running("1"), again), Need::Nothing);
  EXPECT_EQ(confirmed_component(taken_over(a_unit_running("1"), again))->found, again.found);
}

TEST(SlotState, AnotherVersionOrOtherContentIsInstalled) {
  EXPECT_EQ(need_of(a_unit_running("1"), a_component("2")), Need::Install);
  Component other_content = a_component("1");
  other_content.identity = "another digest";
  EXPECT_EQ(need_of(a_unit_running("1"), other_content), Need::Install);
}

TEST(SlotState, TheVersionDecidesWhereTheContentIsNotKnown) {
  SlotState factory = a_unit_running("1");
  factory.a->identity.clear();
  EXPECT_EQ(need_of(factory, a_component("1")), Need::Nothing);
  EXPECT_EQ(confirmed_component(taken_over(factory, a_component("1")))->identity, "digest of 1");
}

TEST(SlotState, AnotherInstanceIsRefusedWhileOneIsToldToRunHere) {
  const SlotState state = a_unit_running("1");
  EXPECT_EQ(need_of(state, a_component("1", "another")), Need::Refuse);
  EXPECT_EQ(need_of(run_ended(state), a_component("1", "another")), Need::Install);
}

TEST(SlotState, WhatWasPreinstalledGivesWay) {
  SlotState factory = a_unit_running("1");
  factory.a->found.run = {};
  EXPECT_EQ(need_of(factory, a_component("1", "another")), Need::Install);
}

TEST(SlotState, AnEndedRunLeavesItsContentActive) {
  const SlotState state = run_ended(a_unit_running("1"));
  EXPECT_EQ(version_in_use(state), "1");
  EXPECT_FALSE(taken_over(state, a_component("1")).a->ended);
}

TEST(SlotState, TheVersionBeforeNoLongerRunsOnceAnotherIsConfirmed) {
  const SlotState state = advance(updating(Phase::Trying), Event::Succeeded).state;
  EXPECT_TRUE(component_in(state, Slot::A)->ended);
  EXPECT_FALSE(component_in(state, Slot::B)->ended);
}

}  // namespace
}  // namespace berth::runtime
