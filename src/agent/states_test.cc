#include <gtest/gtest.h>

#include "agent/driver.h"

// States that come with a command, and states that are saved here.
namespace berth::agent {
namespace {

const model::InstanceKey kStateKey = key_of("web");
const RunId kStateRun{number(1), 0};

model::SavedState a_state(std::uint64_t generation, const std::string& content = "content") {
  return {
      .key = kStateKey, .generation = generation, .digest = "of-" + content, .content = content};
}

StateSaved saved(const std::string& content, std::int64_t size = 10) {
  return {.key = kStateKey, .size = Bytes{size}, .digest = "of-" + content, .content = content};
}

CommandReceived heard(std::uint64_t n, const std::string& content) {
  CommandReceived received = a_partial_command(n, {});
  received.command.states = {{.key = kStateKey, .digest = "of-" + content}};
  return received;
}

CommandReceived hands(std::uint64_t n, const model::SavedState& state) {
  CommandReceived received = a_full_command(n, {a_spec("web")});
  received.command.states = {state};
  return received;
}

Exited exited_with(const std::string& content) {
  return {
      .key = kStateKey, .run = kStateRun, .exit_code = 0, .problem = {}, .state = saved(content)};
}

TEST(HandedState, GoesWithTheFirstStart) {
  Driver driver = a_driver();
  driver.tell(hands(1, a_state(7)));
  ASSERT_EQ(driver.actions<Start>().size(), 1U);
  EXPECT_EQ(driver.actions<Start>()[0].state, a_state(7));
  EXPECT_EQ(driver.durable().handed.at(kStateKey), a_state(7));
}

TEST(HandedState, IsForgottenWhenARunHasGoneOnFromIt) {
  Driver driver = a_driver();
  driver.tell(hands(1, a_state(7)));
  driver.tell(Started{kStateKey, kStateRun});
  EXPECT_TRUE(driver.durable().handed.empty());
  driver.tell(Exited{kStateKey, kStateRun, 1});
  driver.wait(2s);
  ASSERT_EQ(driver.actions<Start>().size(), 1U);
  EXPECT_EQ(driver.actions<Start>()[0].state, std::nullopt);
}

TEST(HandedState, IsTriedAgainWhenTheStartFails) {
  Driver driver = a_driver();
  driver.tell(hands(1, a_state(7)));
  driver.tell(StartFailed{kStateKey, kStateRun, {"StateFailed", "no room"}});
  driver.wait(2s);
  ASSERT_EQ(driver.actions<Start>().size(), 1U);
  EXPECT_EQ(driver.actions<Start>()[0].state, a_state(7));
}

TEST(HandedState, SurvivesARestartOfTheAgent) {
  Driver driver = a_driver();
  driver.tell(hands(1, a_state(7)));
  driver.restart();
  driver.tell(Connected{2}, a_node({a_runtime("crun")}), a_list("crun"));
  ASSERT_EQ(driver.actions<Start>().size(), 1U);
  EXPECT_EQ(driver.actions<Start>()[0].state, a_state(7));
}

// It was told to stop it, then to go on from what another node has written, and died before either.
TEST(HandedState, IsNotTakenByAnOlderRunHoweverAlike) {
  Restored restored;
  restored.wanted[kStateKey] = {.spec = a_spec("web"), .generation = number(3)};
  restored.acted = number(3);
  restored.handed[kStateKey] = a_state(7);
  Driver driver(a_config(), restored);
  FoundRun found = a_found("web", kStateRun);
  found.spec = a_spec("web");
  driver.tell(Connected{1}, a_node(), a_list("crun", {found}));
  ASSERT_EQ(driver.actions<Stop>().size(), 1U);
  driver.tell(Exited{kStateKey, kStateRun, 0});
  ASSERT_EQ(driver.actions<Start>().size(), 1U);
  EXPECT_EQ(driver.actions<Start>()[0].state, a_state(7));
}

TEST(HandedState, IsNotForAnInstanceThatIsHereAlready) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(hands(2, a_state(7)));
  EXPECT_TRUE(driver.durable().handed.empty());
}

TEST(HandedState, IsForWhatAnOlderStoreWantedButDoesNotRun) {
  Restored restored;
  restored.wanted[kStateKey] = {.spec = a_spec("web"), .generation = number(1)};
  restored.acted = number(1);
  restored.in_doubt = true;
  Driver driver(a_config(), restored);
  driver.tell(Connected{1}, a_node(), a_list("crun"));
  driver.tell(hands(9, a_state(7)));
  ASSERT_EQ(driver.actions<Start>().size(), 1U);
  EXPECT_EQ(driver.actions<Start>()[0].state, a_state(7));
}

TEST(HandedState, GoesWithItsInstance) {
  Driver driver = a_driver();
  driver.tell(hands(1, a_state(7)));
  driver.tell(a_full_command(2, {}));
  EXPECT_TRUE(driver.durable().handed.empty());
}

TEST(SavedState, IsReportedUntilItIsHeard) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(saved("one"));
  ASSERT_EQ(driver.report().states.size(), 1U);
  EXPECT_EQ(driver.report().states[0].content, "one");
  EXPECT_FALSE(model::is_heartbeat(driver.report()));
  const Effects again = driver.wait(10s);
  EXPECT_EQ(again.reports.back().states.size(), 1U);
  driver.tell(heard(2, "one"));
  for (const model::Report& report : driver.wait(1min).reports) EXPECT_TRUE(report.states.empty());
}

TEST(SavedState, IsReportedOnceForTheSameContent) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(saved("one"));
  driver.tell(heard(2, "one"));
  driver.tell(saved("one"));
  EXPECT_TRUE(driver.effects().reports.empty());
  driver.tell(saved("two"));
  EXPECT_EQ(driver.report().states[0].content, "two");
}

TEST(SavedState, AnAnswerToAnOlderOneDoesNotCount) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(saved("one"));
  driver.tell(saved("two"));
  driver.tell(heard(2, "one"));
  const Effects later = driver.wait(10s);
  EXPECT_EQ(later.reports.back().states.at(0).content, "two");
}

TEST(SavedState, IsReportedAgainOnANewConnection) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(saved("one"));
  driver.tell(Connected{2});
  EXPECT_TRUE(driver.report().full);
  const Effects soon = driver.wait(1s);
  ASSERT_EQ(soon.reports.size(), 1U);
  EXPECT_EQ(soon.reports[0].states.size(), 1U);
}

TEST(SavedState, BeyondItsQuotaIsReportedAsTooLarge) {
  model::InstanceSpec spec = a_spec("web");
  spec.item.quotas.state = Bytes{100};
  Driver driver = a_driver_running(spec);
  driver.tell(saved("large", 101));
  ASSERT_EQ(driver.report().states.size(), 1U);
  EXPECT_EQ(driver.report().states[0].digest, model::SavedState::kTooLarge);
  EXPECT_EQ(driver.report().states[0].content, "");
  EXPECT_TRUE(driver.noted("too large"));
  driver.tell(saved("larger", 102));
  EXPECT_FALSE(driver.noted("too large")) << "it is said once";
  driver.tell(saved("small", 100));
  ASSERT_EQ(driver.report().states.size(), 1U);
  EXPECT_EQ(driver.report().states[0].content, "small");
}

TEST(SavedState, ThatCannotTravelIsComplainedOfWhateverTheQuota) {
  model::InstanceSpec spec = a_spec("web");
  spec.item.quotas.state = Bytes{8 << 20};
  Driver driver = a_driver_running(spec);
  Measured measured;
  measured.footprints[kStateKey].state = model::SavedState::kSizeMax + Bytes{1};
  driver.tell(measured);
  EXPECT_EQ(driver.status("web").problem.reason, "StateTooLarge");
}

TEST(SavedState, OfAnOldRunIsNothingBesideOneThatWasHanded) {
  Driver driver = a_driver();
  driver.tell(hands(1, a_state(7)));
  driver.tell(saved("old"));
  EXPECT_TRUE(driver.effects().reports.empty());
}

// What the run says in the same breath as that it has started is said once.
TEST(SavedState, CountsFromTheStartThatTookTheHandedOne) {
  Driver driver = a_driver();
  driver.tell(hands(1, a_state(7)));
  driver.tell(Started{kStateKey, kStateRun}, saved("next"));
  ASSERT_EQ(driver.report().states.size(), 1U);
  EXPECT_EQ(driver.report().states[0].content, "next");
}

// It was there all the same, and has counted on.
TEST(SavedState, OfARunWhoseStartWasNeverAnsweredCountsIfItTookTheHandedOne) {
  Driver driver = a_driver();
  driver.tell(hands(1, a_state(7)));
  driver.wait(1min);
  ASSERT_EQ(driver.actions<Stop>().size(), 1U);
  Exited exited = exited_with("next");
  exited.state->goes_on_from = model::name_of(a_state(7));
  driver.tell(exited);
  ASSERT_EQ(driver.report().states.size(), 1U);
  EXPECT_EQ(driver.report().states[0].content, "next");
  EXPECT_TRUE(driver.durable().handed.empty());
}

// The controller may have heard it when nobody asked for the instance.
TEST(SavedState, IsSaidAnewByTheNextOfThatName) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(saved("one"));
  driver.tell(a_full_command(2, {}));
  driver.tell(exited_with("one"));
  driver.tell(heard(3, "one"));
  driver.tell(a_full_command(4, {a_spec("web")}));
  driver.tell(Started{kStateKey, RunId{number(4), 0}}, saved("one"));
  ASSERT_EQ(driver.report().states.size(), 1U);
  EXPECT_EQ(driver.report().states[0].content, "one");
}

TEST(LastState, ComesWithTheReportThatTheInstanceIsGone) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_full_command(2, {}));
  driver.tell(exited_with("last"));
  EXPECT_EQ(driver.report().gone, std::vector{kStateKey});
  EXPECT_EQ(driver.report().states.at(0).content, "last");
  EXPECT_TRUE(driver.durable().last.contains(kStateKey));
}

TEST(LastState, ComesWithThatReportAlsoIfItWasSaidBefore) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(exited_with("last"));
  ASSERT_EQ(driver.report().states.size(), 1U) << "which may be lost";
  driver.tell(a_partial_command(2, {}, {kStateKey}));
  EXPECT_EQ(driver.report().gone, std::vector{kStateKey});
  ASSERT_EQ(driver.report().states.size(), 1U);
  EXPECT_EQ(driver.report().states[0].content, "last");
}

TEST(LastState, IsInEveryFullReportUntilItIsHeard) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_full_command(2, {}));
  driver.tell(exited_with("last"));
  driver.tell(Connected{2});
  EXPECT_EQ(driver.report().states.at(0).content, "last");
  driver.restart();
  driver.tell(Connected{3}, a_node({a_runtime("crun")}), a_list("crun"));
  EXPECT_EQ(driver.report().states.at(0).content, "last");
  driver.tell(heard(3, "last"));
  EXPECT_TRUE(driver.durable().last.empty());
  driver.tell(Connected{4});
  EXPECT_TRUE(driver.report().states.empty());
}

TEST(LastState, OfAnEarlierStayGivesWayToWhatIsHanded) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_full_command(2, {}));
  driver.tell(exited_with("last"));
  driver.tell(hands(3, a_state(9)));
  EXPECT_TRUE(driver.durable().last.empty());
  EXPECT_EQ(driver.actions<Start>().at(0).state, a_state(9));
}

}  // namespace
}  // namespace berth::agent
