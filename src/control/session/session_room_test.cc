#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

using model::SessionState;
using model::SessionStatus;
using Group = Pool::Group;

const model::ApplicationKey kEcho{"games", "echo"};

class SessionRoomTest : public testing::Test {
 protected:
  explicit SessionRoomTest(const Config& config = {}) : driver_(config) { driver_.join("n1"); }

  static model::Application echo(std::uint32_t low = 2, std::uint32_t high = 5) {
    model::Application application;
    application.name = "echo";
    application.ns = "games";
    application.item = model::ItemId{"echo"};
    application.scaling.maximum = 10;
    application.scaling.burst = 10;
    application.scaling.idle = model::Band{low, high};
    application.sessions.reuse = true;
    return application;
  }

  void begin(const model::Application& application) {
    model::Item item = a_service("echo");
    item.ports = {{7000, model::Protocol::Tcp}, {7000, model::Protocol::Udp}};
    driver_.apply({item, model::Namespace{"games"}, application});
  }

  const Pool& pool() { return driver_.controller().sessions().pools().find(kEcho)->pool; }
  std::uint32_t count(Group group) { return pool().count(group); }

  CallId open(const std::string& name = "") {
    return open_with({.application = kEcho, .name = name});
  }
  CallId open_with(OpenSessionCall call) {
    call.application = kEcho;
    return driver_.open_session(std::move(call));
  }
  std::optional<SessionStatus> answer(CallId call) {
    return driver_.session_reply_to<SessionStatus>(call);
  }
  std::string error(CallId call) {
    const auto error = driver_.session_reply_to<Error>(call);
    return error ? error->message : "";
  }
  std::optional<SessionStatus> status(const std::string& name) {
    return driver_.controller().status_of(model::SessionKey{"games", name});
  }
  FakePool& on(const std::string& node) { return driver_.agent(node).pool; }

  Driver driver_;
};

class SessionRoomWithOnePort : public SessionRoomTest {
 protected:
  SessionRoomWithOnePort() : SessionRoomTest(one_port()) {}

  static Config one_port() {
    Config config;
    config.session_ports = {20'000, 20'000};
    return config;
  }
};

TEST_F(SessionRoomWithOnePort, WhoFindsNoneDoesNotTakeTheTurnOfOthers) {
  model::Application application = echo();
  application.sessions.reopen = true;
  begin(application);
  open("a");
  driver_.tell({OpenSessionCall{.call = 901, .application = kEcho, .name = "b"},
                OpenSessionCall{.call = 902, .application = kEcho, .name = "c"}});
  for (const CallId call : {901, 902}) {
    ASSERT_TRUE(answer(call));
    EXPECT_EQ(answer(call)->reason.reason, "EndpointsExhausted");
  }
}

TEST_F(SessionRoomTest, KeepsAsManyReadyAsThePolicySays) {
  begin(echo());
  EXPECT_EQ(count(Group::Ready), 2u);
  EXPECT_EQ(on("n1").instances.size(), 2u);
}

TEST_F(SessionRoomTest, AnOpenIsAnsweredWithItsEndpointsByAReadyInstance) {
  begin(echo());
  const auto opened = answer(open("blue"));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->state, SessionState::Available);
  EXPECT_EQ(model::to_string(opened->instance), "@games/echo/1");
  ASSERT_EQ(opened->endpoints.size(), 2u);
  EXPECT_EQ(opened->endpoints[0].external, 20000);
  EXPECT_EQ(opened->endpoints[1].external, 20000) << "the same for TCP and UDP";
  EXPECT_EQ(count(Group::Active), 1u);
  EXPECT_EQ(count(Group::Ready), 2u) << "another one was made";
}

TEST_F(SessionRoomTest, NoOpenWritesAnything) {
  begin(echo());
  open("blue");
  EXPECT_TRUE(driver_.effects().writes.empty());
  driver_.close_session({"games", "blue"});
  EXPECT_TRUE(driver_.effects().writes.empty());
}

TEST_F(SessionRoomTest, OneWithoutANameIsCalledLikeItsInstance) {
  begin(echo());
  EXPECT_EQ(answer(open())->ref.key.name, "echo-1");
}

TEST_F(SessionRoomTest, ASecondOpenByTheSameCallerGetsTheSameSession) {
  begin(echo());
  const auto first = answer(open_with({.request_id = "r1"}));
  const auto again = answer(open_with({.request_id = "r1"}));
  ASSERT_TRUE(first && again);
  EXPECT_EQ(first->ref, again->ref);
  EXPECT_EQ(count(Group::Active), 1u);
  const auto named = answer(open("blue"));
  EXPECT_EQ(named->ref, answer(open("blue"))->ref);
  EXPECT_NE(error(open_with({.name = "blue", .caller = "somebody"})), "");
}

TEST_F(SessionRoomTest, RefusalsSayWhatIsWrong) {
  begin(echo());
  const auto refused = [&](OpenSessionCall call) {
    return error(driver_.open_session(std::move(call)));
  };
  EXPECT_EQ(refused({.application = {"games", "other"}}), "no application games/other");
  EXPECT_EQ(refused({.application = {"other", "echo"}}), "no namespace other");
  OpenSessionCall large{.application = kEcho};
  large.data = std::string(model::SessionSpec::kDataMax + 1, 'x');
  EXPECT_EQ(refused(large), "the data are 65537 bytes; at most 65536 can be handed to a session");
  EXPECT_EQ(error(driver_.close_session({"games", "none"})), "no session games/none");
}

TEST_F(SessionRoomTest, AReusableInstanceServesAgain) {
  begin(echo());
  open("blue");
  const auto closed = answer(driver_.close_session({"games", "blue"}));
  ASSERT_TRUE(closed);
  EXPECT_EQ(closed->state, SessionState::Closed);
  EXPECT_EQ(count(Group::Active), 0u);
  EXPECT_EQ(on("n1").instances.size(), 3u);
}

TEST_F(SessionRoomTest, APortComesBackLast) {
  begin(echo());
  EXPECT_EQ(answer(open("a"))->endpoints[0].external, 20000);
  driver_.close_session({"games", "a"});
  EXPECT_EQ(answer(open("b"))->endpoints[0].external, 20001);
}

TEST_F(SessionRoomTest, WhoFindsNobodyReadyWaitsFirstComeFirstServed) {
  begin(echo(0, 0));
  on("n1").starts_slowly = true;
  const CallId first = open("a");
  const CallId second = open("b");
  EXPECT_FALSE(answer(first));
  EXPECT_EQ(count(Group::Pending), 2u);
  on("n1").set(model::pool_instance(kEcho, 2), model::PoolInstanceState::Running);
  driver_.report_changes("n1");
  EXPECT_TRUE(answer(first));
  EXPECT_FALSE(answer(second));
  on("n1").set(model::pool_instance(kEcho, 1), model::PoolInstanceState::Running);
  driver_.report_changes("n1");
  EXPECT_TRUE(answer(second));
}

TEST_F(SessionRoomTest, TimesOutExactlyAtTheDeadlineWithTheReason) {
  model::Application application = echo(0, 0);
  application.labels = {"zone=moon"};
  begin(application);
  const CallId call = open_with({.name = "a", .timeout = 3s});
  driver_.advance(3s - 1ms);
  EXPECT_FALSE(answer(call));
  driver_.advance(1ms);
  ASSERT_TRUE(answer(call));
  EXPECT_EQ(answer(call)->state, SessionState::Timeout);
  EXPECT_EQ(answer(call)->reason.reason, "NoMatchingLabels");
}

TEST_F(SessionRoomTest, TimesOutAlsoWhileAgentsAreAwaitedAfterAStart) {
  begin(echo());
  driver_.restart();
  const CallId call = open_with({.name = "a", .timeout = 1s});
  driver_.advance(1s - 1ms);
  EXPECT_FALSE(answer(call));
  driver_.advance(1ms);
  ASSERT_TRUE(answer(call));
  EXPECT_EQ(answer(call)->state, SessionState::Timeout);
}

TEST_F(SessionRoomTest, WhatWasOnItsWayEndsWithTheConnection) {
  begin(echo());
  driver_.agent("n1").answers = false;
  const CallId call = open("a");
  driver_.disconnect("n1");
  driver_.advance(10s);
  ASSERT_TRUE(answer(call));
  EXPECT_TRUE(model::is_over(answer(call)->state));
}

TEST_F(SessionRoomTest, NoPortsAreReservedWhereThereAreNoApplications) {
  EXPECT_TRUE(driver_.controller().durable().port_blocks.empty());
  begin(echo());
  EXPECT_FALSE(driver_.controller().durable().port_blocks.empty());
}

TEST_F(SessionRoomTest, IsBusyWhenAsManyWaitAsCanBeServed) {
  model::Application application = echo(0, 0);
  application.scaling.maximum = 2;
  begin(application);
  on("n1").starts_slowly = true;
  open("a");
  open("b");
  const auto busy = driver_.session_reply_to<SessionBusy>(open("c"));
  ASSERT_TRUE(busy);
  EXPECT_GE(busy->retry_after, 100ms);
  EXPECT_LE(busy->retry_after, 30s);
}

TEST_F(SessionRoomTest, IsNotBusyForThoseWhoComeAtOnceWhileThereAreFreeSlots) {
  model::Application application = echo(2, 2);
  application.scaling.maximum = 2;
  application.sessions.per_instance = 2;
  begin(application);
  std::vector<Event> calls;
  for (const CallId call : {901, 902, 903, 904, 905}) {
    calls.push_back(OpenSessionCall{.call = call, .application = kEcho});
  }
  driver_.tell(std::move(calls));
  for (const CallId call : {901, 902, 903, 904}) EXPECT_TRUE(answer(call)) << call;
  EXPECT_TRUE(driver_.session_reply_to<SessionBusy>(905));
}

TEST_F(SessionRoomTest, AnInstanceIsConfirmedBeforeItIsUsedAgain) {
  begin(echo(1, 1));
  on("n1").opens_slowly = on("n1").closes_slowly = true;
  const CallId call = open_with({.name = "a", .timeout = 1s});
  driver_.advance(1s);
  EXPECT_EQ(answer(call)->state, SessionState::Timeout);
  EXPECT_EQ(count(Group::Active), 1u) << "its agent has not closed it yet";
  on("n1").set(model::SessionRef{{"games", "a"}, 1}, SessionState::Closed);
  driver_.report_changes("n1");
  EXPECT_EQ(count(Group::Active), 0u);
}

TEST_F(SessionRoomTest, OneThatCannotBeOpenedIsAnsweredByItsDeadlineHoweverSlowlyItCloses) {
  begin(echo(1, 1));
  on("n1").opens_slowly = on("n1").closes_slowly = true;
  const CallId call = open_with({.name = "a", .timeout = 1s});
  on("n1").set(model::SessionRef{{"games", "a"}, 1}, SessionState::Closing, {"AppRefused", "no"});
  driver_.report_changes("n1");
  EXPECT_FALSE(answer(call));
  driver_.advance(1s);
  ASSERT_TRUE(answer(call));
  EXPECT_EQ(answer(call)->state, SessionState::Timeout);
}

TEST_F(SessionRoomTest, WhoWaitsForOneThatIsClosedMeanwhileIsToldAtOnce) {
  begin(echo(1, 1));
  on("n1").opens_slowly = on("n1").closes_slowly = true;
  const CallId call = open("a");
  driver_.close_session({"games", "a"});
  ASSERT_TRUE(answer(call));
  EXPECT_EQ(answer(call)->reason.reason, "ClosedByCaller");
}

TEST_F(SessionRoomTest, IsCancelledWhenItsCallerGoesAway) {
  begin(echo(0, 0));
  on("n1").starts_slowly = true;
  const CallId call = open("a");
  driver_.tell({SessionCallerGone{call}});
  EXPECT_EQ(status("a")->state, SessionState::Closed);
  EXPECT_EQ(status("a")->reason.reason, "Cancelled");
}

TEST_F(SessionRoomTest, SessionsOfALostInstanceFailAndReopenElsewhere) {
  begin(echo());
  open("a");
  open_with({.name = "b", .reopen = true});
  on("n1").die(status("a")->instance);
  on("n1").die(status("b")->instance);
  driver_.report_changes("n1");
  EXPECT_EQ(status("a")->state, SessionState::Failed);
  EXPECT_EQ(status("b")->state, SessionState::Available);
  EXPECT_EQ(status("b")->ref.incarnation, 2u);
}

TEST_F(SessionRoomTest, WhatWasNeverAvailableIsNotOpenedAgain) {
  begin(echo());
  on("n1").refuses_sessions = true;
  const CallId call = open_with({.name = "a", .reopen = true});
  ASSERT_TRUE(answer(call));
  EXPECT_EQ(answer(call)->state, SessionState::Failed);
  EXPECT_EQ(status("a")->ref.incarnation, 1u) << "its caller was told, and may ask again";
}

TEST_F(SessionRoomTest, WhatFailsWheneverItIsOpenedIsGivenUp) {
  begin(echo());
  open_with({.name = "a", .reopen = true});
  on("n1").refuses_sessions = true;
  on("n1").die(status("a")->instance);
  driver_.report_changes("n1");
  EXPECT_EQ(status("a")->state, SessionState::Failed);
  EXPECT_EQ(status("a")->ref.incarnation, 4u);
  EXPECT_EQ(status("a")->reason.reason, "AppRefused");
  EXPECT_EQ(count(Group::Active), 0u);
}

TEST_F(SessionRoomTest, SessionsOfASilentNodeAreLostAfterThreePeriods) {
  driver_.join("n2");
  begin(echo());
  open("a");
  const std::string node = status("a")->node.value();
  driver_.agent(node).answers = false;
  driver_.advance(6s - 1ms);
  EXPECT_EQ(status("a")->state, SessionState::Available);
  driver_.advance(1ms);
  EXPECT_EQ(status("a")->state, SessionState::Failed);
  EXPECT_EQ(status("a")->reason.reason, "NodeLost");
  driver_.advance(1s);
  EXPECT_EQ(count(Group::Ready), 2u) << "elsewhere";
}

TEST_F(SessionRoomTest, AllIsStillThereAfterARestart) {
  begin(echo());
  const auto before = answer(open_with({.name = "a", .request_id = "r"}));
  driver_.restart();
  driver_.connect("n1");
  driver_.advance(6s);
  const auto after = status("a");
  ASSERT_TRUE(after);
  EXPECT_EQ(after->state, SessionState::Available);
  EXPECT_EQ(after->endpoints, before->endpoints);
  EXPECT_EQ(after->instance, before->instance);
  EXPECT_EQ(answer(open_with({.request_id = "r"}))->ref, before->ref);
  for (const auto& [key, starts] : on("n1").starts) EXPECT_EQ(starts, 1) << key.index;
  EXPECT_EQ(on("n1").instances.size(), 3u);
  EXPECT_NE(answer(open("b"))->endpoints[0].external, before->endpoints[0].external);
}

TEST_F(SessionRoomTest, WhoWatchesHearsOfEachChangeOnce) {
  using enum SessionState;
  const auto states_told = [this] {
    std::vector<SessionState> states;
    for (const SessionStatus& status : driver_.effects().session_changes) {
      states.push_back(status.state);
    }
    return states;
  };
  begin(echo());
  open("a");
  EXPECT_EQ(states_told(), (std::vector{Starting, Available}));
  driver_.report_fully("n1");
  EXPECT_EQ(states_told(), std::vector<SessionState>{});
  driver_.restart();
  driver_.connect("n1");
  EXPECT_EQ(states_told(), std::vector{Available}) << "it is new to this life";
}

TEST_F(SessionRoomTest, WhatAnAgentHasLostIsReplaced) {
  begin(echo());
  open("a");
  driver_.disconnect("n1");
  on("n1").lose_everything();
  driver_.connect("n1");
  EXPECT_EQ(status("a")->state, SessionState::Failed);
  EXPECT_EQ(count(Group::Ready), 2u);
}

TEST_F(SessionRoomTest, StandbyInstancesAreWokenByAnOpen) {
  model::Application application = echo(0, 0);
  application.scaling.standby = model::Band{1, 2};
  begin(application);
  EXPECT_EQ(count(Group::Standby), 1u);
  const auto opened = answer(open("a"));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->instance.index, 1u);
  EXPECT_EQ(count(Group::Standby), 1u) << "another one was made";
}

TEST_F(SessionRoomTest, WhatStandsStillIsNotWokenByBeingReportedAgain) {
  model::Application application = echo(1, 1);
  application.scaling.standby = model::Band{1, 1};
  begin(application);
  driver_.report_fully("n1");
  EXPECT_EQ(count(Group::Standby), 1u);
  driver_.restart();
  driver_.connect("n1");
  driver_.advance(6s);
  EXPECT_EQ(count(Group::Standby), 1u);
  EXPECT_EQ(count(Group::Ready), 1u);
}

TEST_F(SessionRoomTest, ARuntimeThatCannotPauseServesFromTheReadyPool) {
  model::Application application = echo(0, 1);
  application.scaling.standby = model::Band{1, 2};
  on("n1").cannot_pause = true;
  begin(application);
  EXPECT_EQ(count(Group::Standby), 0u);
  EXPECT_TRUE(driver_.controller().sessions().pools().find(kEcho)->cannot_pause);
  EXPECT_TRUE(answer(open("a")));
}

TEST_F(SessionRoomTest, SurplusGoesAfterTheCoolDown) {
  begin(echo(2, 2));
  open("a");
  open("b");
  EXPECT_EQ(on("n1").instances.size(), 4u);
  driver_.close_session({"games", "a"});
  driver_.close_session({"games", "b"});
  driver_.advance(29s);
  EXPECT_EQ(on("n1").instances.size(), 4u);
  driver_.advance(2s);
  EXPECT_EQ(on("n1").instances.size(), 2u);
}

TEST_F(SessionRoomTest, DeletingTheApplicationClosesItsSessions) {
  begin(echo());
  open("a");
  driver_.erase("Application", "games/echo");
  EXPECT_EQ(status("a")->state, SessionState::Closed);
  EXPECT_TRUE(on("n1").instances.empty());
}

TEST_F(SessionRoomTest, AnotherVersionReplacesThoseThatAreFree) {
  begin(echo(2, 2));
  open("a");
  model::Item next = a_service("echo").version("2");
  next.ports = {{7000, model::Protocol::Tcp}};
  model::Application application = echo(2, 2);
  application.version = "2";
  driver_.apply({next, application});
  driver_.advance(40s);
  EXPECT_EQ(on("n1").instances.at(status("a")->instance).version, "1");
  std::size_t newer = 0;
  for (const auto& [key, instance] : on("n1").instances) newer += instance.version == "2";
  EXPECT_EQ(newer, 2u);
  EXPECT_EQ(on("n1").instances.size(), 3u);
}

TEST_F(SessionRoomTest, WhatDoesNotComeUpIsTriedAgainLaterAndLater) {
  on("n1").fails_starts = true;
  model::Application application = echo(1, 1);
  begin(application);
  const auto tries = [&] { return on("n1").starts.size(); };
  EXPECT_EQ(tries(), 1u);
  driver_.advance(1s);
  EXPECT_EQ(tries(), 2u);
  driver_.advance(1s);
  EXPECT_EQ(tries(), 2u);
  driver_.advance(1s);
  EXPECT_EQ(tries(), 3u);
}

TEST_F(SessionRoomTest, FinishedOnesAreForgottenAfterAWhile) {
  begin(echo());
  open("a");
  driver_.close_session({"games", "a"});
  driver_.advance(5min - 1ms);
  EXPECT_TRUE(status("a"));
  driver_.advance(1ms);
  EXPECT_FALSE(status("a"));
}

TEST_F(SessionRoomTest, SeveralSessionsShareAnInstanceTheFullestFirst) {
  model::Application application = echo(1, 1);
  application.sessions.per_instance = 2;
  begin(application);
  const auto a = answer(open("a"));
  const auto b = answer(open("b"));
  EXPECT_EQ(a->instance, b->instance);
  EXPECT_NE(a->instance, answer(open("c"))->instance);
}

TEST_F(SessionRoomTest, AHigherPriorityTakesTheRoomOfFreeInstancesOnly) {
  Driver driver;
  driver.join("n1", a_node());
  model::Item item = a_service("echo").cpu(400);
  driver.apply({item, model::Namespace{"games"}, echo(2, 2)});
  EXPECT_EQ(driver.agent("n1").pool.instances.size(), 2u);
  driver.open_session({.application = kEcho, .name = "a"});
  driver.apply({a_service("big").cpu(600), a_deployment("d", {a_run("big").priority(100)})});
  driver.advance(1s);
  EXPECT_EQ(driver.status_of(key_of("big")), "active");
  EXPECT_EQ(driver.agent("n1").pool.instances.size(), 1u);
  EXPECT_EQ(driver.controller().status_of(model::SessionKey{"games", "a"})->state,
            SessionState::Available);
}

TEST_F(SessionRoomTest, ADrainedNodeGetsNoSessionAndKeepsThoseItHasUntilTheDeadline) {
  begin(echo(1, 1));
  open("a");
  driver_.join("n2");
  driver_.drain("n1", 60s);
  EXPECT_EQ(answer(open("b"))->node.value(), "n2");
  EXPECT_EQ(status("a")->state, SessionState::Available);
  driver_.advance(59s);
  EXPECT_EQ(on("n1").instances.size(), 1u) << "only who has a session is left";
  EXPECT_EQ(status("a")->state, SessionState::Available);
  driver_.advance(2s);
  EXPECT_EQ(status("a")->reason.reason, "NodeDrained");
  EXPECT_TRUE(on("n1").instances.empty());
  EXPECT_TRUE(driver_.noted(NoteKind::NodeDrained, "node/n1"));
}

TEST_F(SessionRoomTest, ANodeThatIsNotDrainedAnyMoreServesOn) {
  begin(echo(1, 1));
  open("a");
  driver_.drain("n1", 60s);
  EXPECT_EQ(count(Group::Leaving), 2u);
  driver_.cordon("n1", Scheduling::Allowed);
  EXPECT_EQ(count(Group::Leaving), 0u);
  EXPECT_EQ(answer(open("b"))->node.value(), "n1");
}

TEST_F(SessionRoomTest, ACordonedNodeServesOnAndGetsNoNewInstance) {
  begin(echo(1, 1));
  driver_.join("n2");
  driver_.cordon("n1");
  EXPECT_EQ(answer(open("a"))->node.value(), "n1");
  EXPECT_EQ(answer(open("b"))->node.value(), "n2");
}

TEST_F(SessionRoomTest, NamesThatCannotBeAreRefused) {
  begin(echo());
  for (const char* name : {"a/b", "A", "-a", ".."}) EXPECT_NE(error(open(name)), "") << name;
  EXPECT_NE(error(open(std::string(64, 'a'))), "");
  EXPECT_NE(error(open_with({.request_id = std::string(257, 'a')})), "");
}

TEST_F(SessionRoomTest, ANamespaceWithOpenSessionsIsNotDeleted) {
  begin(echo());
  open("a");
  on("n1").closes_slowly = true;
  driver_.erase("Application", "games/echo");
  const auto refused = driver_.reply_to<Error>(driver_.erase("Namespace", "games"));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->message,
            "namespace games has 1 open sessions: close them first, or all at once with --cascade");
  on("n1").set(status("a")->ref, SessionState::Closed);
  driver_.report_changes("n1");
  EXPECT_TRUE(driver_.reply_to<Accepted>(driver_.erase("Namespace", "games")));
}

TEST_F(SessionRoomTest, APortThatAStrangerHasIsNotTriedAgainSoon) {
  begin(echo());
  on("n1").taken_ports = {20000};
  const auto opened = answer(open("a"));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->endpoints[0].external, 20001);
}

TEST_F(SessionRoomTest, ASessionThatWasGivenUpIsClosedWhenItsNodeIsBack) {
  begin(echo());
  open("a");
  driver_.agent("n1").answers = false;
  driver_.disconnect("n1");
  driver_.advance(10s);
  EXPECT_EQ(status("a")->state, SessionState::Failed);
  driver_.agent("n1").answers = true;
  driver_.connect("n1");
  EXPECT_EQ(status("a")->state, SessionState::Failed);
  EXPECT_TRUE(on("n1").sessions.empty());
}

TEST_F(SessionRoomTest, AnOpenThatWasLostWithItsConnectionIsToldAgain) {
  begin(echo());
  driver_.agent("n1").answers = false;
  const CallId call = open("a");
  driver_.disconnect("n1");
  driver_.agent("n1").answers = true;
  driver_.connect("n1");
  EXPECT_TRUE(answer(call));
}

TEST_F(SessionRoomTest, WhoNobodyKnowsIsEndedWhenAllHaveSpoken) {
  driver_.join("n2");
  model::ReportedPoolInstance stranger;
  stranger.key = model::pool_instance({"games", "chess"}, 3);
  stranger.item = "chess";
  stranger.version = "1";
  stranger.runtime = model::RuntimeId{"crun"};
  stranger.state = model::PoolInstanceState::Running;
  on("n1").instances.emplace(stranger.key, stranger);
  driver_.restart();
  driver_.connect("n1");
  EXPECT_EQ(on("n1").instances.size(), 1u);
  driver_.advance(6s);
  EXPECT_TRUE(on("n1").instances.empty());
}

TEST_F(SessionRoomTest, WhoIsDeletedNowHasNoGrace) {
  begin(echo());
  open("a");
  driver_.tell({DeleteCall{
      .call = 77, .kind = "Application", .name = "games/echo", .farewell = Farewell::Now}});
  driver_.advance(1s);
  EXPECT_EQ(status("a")->state, SessionState::Closed);
  EXPECT_TRUE(on("n1").instances.empty());
}

TEST_F(SessionRoomTest, AnApplicationThatFoundNoPlaceLeavesNothingBehind) {
  model::Application application = echo(1, 1);
  application.labels = {"nowhere"};
  begin(application);
  EXPECT_EQ(count(Group::Unplaced), 1u);
  driver_.erase("Application", "games/echo");
  model::Item other = a_service("other");
  driver_.apply({other, a_deployment("other", {a_run("other")})});
  driver_.erase("Deployment", "other");
  driver_.advance(60s);
  EXPECT_TRUE(on("n1").instances.empty());
}

TEST_F(SessionRoomTest, WhoAskedAgainOfAnotherLifeHasWhatItHad) {
  begin(echo());
  const auto opened = answer(open("a"));
  driver_.restart();
  const CallId again = open("a");
  EXPECT_FALSE(answer(again)) << "nobody knows yet";
  driver_.connect("n1");
  const auto found = answer(again);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->instance, opened->instance);
  EXPECT_EQ(found->endpoints, opened->endpoints);
}

TEST_F(SessionRoomTest, NobodySpeaksForTheInstanceOfAnotherNode) {
  begin(echo());
  const auto opened = answer(open("a"));
  driver_.join("n2");
  model::ReportedSession lie;
  lie.session.ref = opened->ref;
  lie.session.instance = opened->instance;
  lie.session.ports = {{{7000, model::Protocol::Tcp}, "203.0.113.9", 20000, ""}};
  lie.state = SessionState::Closed;
  model::Report report = driver_.agent("n2").full();
  report.pool->sessions.push_back(lie);
  driver_.report("n2", report);
  EXPECT_EQ(status("a")->state, SessionState::Available);
  lie.state = SessionState::Available;
  lie.session.ref = {{"games", "stranger"}, 1};
  report = driver_.agent("n1").full();
  report.pool->sessions.push_back(lie);
  driver_.report("n1", report);
  EXPECT_FALSE(status("stranger"));
}

TEST_F(SessionRoomTest, AReportOfASessionOnNoInstanceOfAPoolHarmsNobody) {
  begin(echo());
  open("a");
  open("b");
  driver_.close_session({"games", "b"});
  for (const std::string name : {"a", "b", "stranger"}) {
    for (const SessionState state : {SessionState::Available, SessionState::Failed}) {
      model::ReportedSession lie;
      lie.session.ref = {{"games", name}, 1};
      lie.session.request_id = "r1";
      lie.state = state;
      model::Report report = driver_.agent("n1").full();
      report.pool->sessions.push_back(lie);
      driver_.report("n1", report);
    }
  }
  EXPECT_EQ(status("a")->state, SessionState::Available);
  EXPECT_FALSE(status("stranger"));
}

// All that can make a pool look at something: what was noted, and what agents were told.
std::vector<std::string> history_of(Walk walk) {
  Config config;
  config.walk = walk;
  Driver driver(config);
  std::vector<std::string> history;
  const auto after = [&](const std::string& what) {
    history.push_back(what);
    for (const auto& [at, effects] : driver.steps()) {
      for (const Note& note : effects.notes) history.push_back(note.about + ": " + note.text);
      for (const PoolOutgoing& told : effects.pool_commands) {
        history.push_back(told.node.value() + " " + std::to_string(told.command.orders.size()));
      }
    }
  };
  const auto open = [&](const std::string& name) {
    driver.open_session({.application = kEcho, .name = name});
    after("open " + name);
  };
  for (const std::string node : {"n1", "n2", "n3"}) driver.join(node);
  model::Item item = a_service("echo");
  item.ports = {{7000, model::Protocol::Tcp}};
  model::Application application;
  application.name = "echo";
  application.ns = "games";
  application.item = model::ItemId{"echo"};
  application.scaling.maximum = 10;
  application.scaling.burst = 10;
  application.scaling.idle = model::Band{2, 3};
  application.sessions.reuse = true;
  application.sessions.reopen = true;
  driver.apply({item, model::Namespace{"games"}, application});
  after("apply");
  for (const std::string name : {"a", "b", "c", "d"}) open(name);
  driver.agent("n1").answers = false;
  driver.advance(10s);
  after("n1 is silent");
  driver.agent("n1").answers = true;
  driver.advance(5s);
  after("n1 is back");
  driver.disconnect("n2");
  driver.advance(3s);
  driver.connect("n2");
  after("n2 was away");
  driver.drain("n3", 5s);
  after("n3 is drained");
  open("e");
  driver.advance(6s);
  after("n3 must be empty");
  driver.cordon("n3", Scheduling::Allowed);
  after("n3 may serve");
  application.sessions.close_grace = 5s;
  driver.apply({application});
  driver.advance(40s);
  after("another edition");
  driver.agent("n2").pool.closes_slowly = true;
  driver.erase("Application", "games/echo");
  after("deleted");
  driver.forget("n2");
  driver.advance(60s);
  after("n2 is forgotten");
  return history;
}

TEST(SessionRoomWalk, LooksOnlyAtWhatHasChangedAndMissesNothing) {
  const std::vector<std::string> dirty = history_of(Walk::Dirty);
  EXPECT_EQ(dirty, history_of(Walk::Everything));
  EXPECT_GT(dirty.size(), 40u) << "something has happened";
}

// --- With a gateway ----------------------------------------------------------------------------

class SessionRoomWithGateway : public SessionRoomTest {
 protected:
  explicit SessionRoomWithGateway(IdRange ports = {30'000, 30'099})
      : SessionRoomTest(behind_gateway(ports)) {
    driver_.join("gw");
  }

  static Config behind_gateway(IdRange ports) {
    Config config;
    config.gateway = SessionGateway{model::NodeId("gw"), "192.0.2.9", ports};
    return config;
  }
  void begin_on(const std::string& node) {
    model::Application application = echo();
    application.nodes = {model::NodeId(node)};
    begin(application);
  }
  const model::SessionRef kBlue{{"games", "blue"}, 1};
};

class SessionRoomWithOneGatewayPort : public SessionRoomWithGateway {
 protected:
  SessionRoomWithOneGatewayPort() : SessionRoomWithGateway({30'000, 30'000}) {}
};

TEST_F(SessionRoomWithGateway, ClientsAreToldItsPortsAndItForwardsToTheNode) {
  begin_on("n1");
  const auto opened = answer(open("blue"));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->state, SessionState::Available);
  EXPECT_EQ(opened->node, model::NodeId("n1"));
  ASSERT_EQ(opened->endpoints.size(), 2u);
  EXPECT_EQ(opened->endpoints[0].external_address, "192.0.2.9");
  EXPECT_EQ(opened->endpoints[0].external, 30'000);
  EXPECT_EQ(opened->endpoints[1].external, 30'000);
  const auto& behind = on("n1").sessions.at(kBlue).session.ports[0];
  EXPECT_EQ(behind.external, 20'000);
  const auto& forwarded = on("gw").sessions.at(kBlue).session.ports[0];
  EXPECT_EQ(forwarded.external, 30'000);
  EXPECT_EQ(forwarded.internal, behind.external_address + ":20000");
}

TEST_F(SessionRoomWithGateway, WhatItRunsItselfIsForwardedOnce) {
  begin_on("gw");
  const auto opened = answer(open("blue"));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->endpoints[0].external_address, "192.0.2.9");
  EXPECT_EQ(opened->endpoints[0].external, 30'000);
  EXPECT_EQ(on("gw").sessions.size(), 1u);
}

TEST_F(SessionRoomWithGateway, ASessionIsAvailableWhenBothHaveOpenedIt) {
  begin_on("n1");
  for (const auto& [slow, name] : {std::pair("gw", "blue"), std::pair("n1", "red")}) {
    on(slow).opens_slowly = true;
    const CallId call = open(name);
    EXPECT_FALSE(answer(call)) << slow;
    EXPECT_EQ(status(name)->state, SessionState::Starting);
    on(slow).set(model::SessionRef{{"games", name}, 1}, SessionState::Available);
    on(slow).opens_slowly = false;
    driver_.report_changes(slow);
    ASSERT_TRUE(answer(call)) << slow;
    EXPECT_EQ(answer(call)->state, SessionState::Available);
  }
}

TEST_F(SessionRoomWithGateway, ClosingClosesBoth) {
  begin_on("n1");
  open("blue");
  const auto closed = answer(driver_.close_session({"games", "blue"}));
  ASSERT_TRUE(closed);
  EXPECT_EQ(closed->state, SessionState::Closed);
  EXPECT_TRUE(on("n1").sessions.empty());
  EXPECT_TRUE(on("gw").sessions.empty());
}

TEST_F(SessionRoomWithOneGatewayPort, APortIsFreeOnlyWhenTheGatewayHasClosedIt) {
  begin_on("n1");
  open("blue");
  on("gw").closes_slowly = true;
  driver_.close_session({"games", "blue"});
  EXPECT_EQ(answer(open("red"))->reason.reason, "EndpointsExhausted");
  on("gw").set(kBlue, SessionState::Closed);
  driver_.report_changes("gw");
  const auto opened = answer(open("green"));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->endpoints[0].external, 30'000);
  EXPECT_EQ(on("n1").sessions.begin()->second.session.ports[0].external, 20'002)
      << "those behind it were not given to others meanwhile, and come last now";
}

TEST_F(SessionRoomWithGateway, APortThatAStrangerHasThereIsLeftOut) {
  begin_on("n1");
  on("gw").taken_ports = {30'000, 30'001};
  const auto opened = answer(open("blue"));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->state, SessionState::Available);
  EXPECT_EQ(opened->endpoints[0].external, 30'002);
}

TEST_F(SessionRoomWithGateway, WhileItIsAwayNobodyIsLetInAndWhoIsStays) {
  begin_on("n1");
  open("blue");
  driver_.disconnect("gw");
  const CallId call = open("red");
  EXPECT_FALSE(answer(call));
  EXPECT_EQ(status("red")->state, SessionState::Pending);
  EXPECT_EQ(status("blue")->state, SessionState::Available);
  driver_.connect("gw");
  ASSERT_TRUE(answer(call));
  EXPECT_EQ(answer(call)->state, SessionState::Available);
  EXPECT_EQ(status("blue")->endpoints[0].external, 30'000);
}

TEST_F(SessionRoomWithGateway, IfItHasForgottenAllItIsToldAgain) {
  begin_on("n1");
  open("blue");
  driver_.disconnect("gw");
  on("gw").lose_everything();
  driver_.connect("gw");
  ASSERT_TRUE(on("gw").sessions.contains(kBlue));
  EXPECT_EQ(on("gw").sessions.at(kBlue).session.ports[0].external, 30'000);
  EXPECT_EQ(status("blue")->state, SessionState::Available);
}

TEST_F(SessionRoomWithGateway, TheNextLifeOfTheControlPlaneLearnsWhatIsForwarded) {
  begin_on("n1");
  open("blue");
  open("red");
  driver_.restart();
  driver_.connect("gw");
  driver_.connect("n1");
  ASSERT_TRUE(status("blue"));
  EXPECT_EQ(status("blue")->state, SessionState::Available);
  EXPECT_EQ(status("blue")->endpoints[0].external_address, "192.0.2.9");
  EXPECT_EQ(status("blue")->endpoints[0].external, 30'000);
  EXPECT_EQ(answer(open("green"))->endpoints[0].external_address, "192.0.2.9");
  EXPECT_EQ(on("gw").sessions.size(), 3u);
}

TEST_F(SessionRoomWithGateway, WhatLeadsNowhereAfterARestartIsClosed) {
  begin_on("n1");
  open("blue");
  driver_.disconnect("n1");
  on("n1").lose_everything();
  driver_.restart();
  driver_.connect("gw");
  driver_.connect("n1");
  driver_.advance(10s);
  EXPECT_TRUE(on("gw").sessions.empty());
}

TEST_F(SessionRoomWithGateway, ALostInstanceIsNotForwardedToAnyMore) {
  begin_on("n1");
  const auto opened = answer(open("blue"));
  on("n1").die(opened->instance);
  driver_.report_changes("n1");
  EXPECT_EQ(status("blue")->state, SessionState::Failed);
  EXPECT_TRUE(on("gw").sessions.empty());
}

}  // namespace
}  // namespace berth::control
