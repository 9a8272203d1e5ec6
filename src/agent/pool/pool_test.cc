#include <gtest/gtest.h>

#include "agent/driver.h"

namespace berth::agent {
namespace {

using model::PoolInstanceState;
using model::SessionState;

model::InstanceKey echo(std::uint32_t number) {
  return model::pool_instance({"games", "echo"}, number);
}

model::SessionOptions options() {
  model::SessionOptions options;
  options.reuse = true;
  return options;
}

model::SessionOptions with_service() {
  model::SessionOptions options;
  options.service = true;
  return options;
}

model::SessionSpec a_session(const std::string& name, std::uint32_t instance = 1) {
  model::SessionSpec session;
  session.ref.key = {"games", name};
  session.instance = echo(instance);
  session.data = "hello";
  session.ports = {{{7000, model::Protocol::Tcp}, "192.0.2.1", 20000, ""}};
  session.close_grace = 30s;
  session.claim = 60s;
  return session;
}

// An agent that is told about pools, and a shell that does what it says at once.
class PoolTest : public ::testing::Test {
 protected:
  using Task = std::variant<Action, PoolAction>;

  PoolTest() { driver_.tell(Connected{1}, a_node(), a_list("crun")); }

  void tell(std::vector<model::PoolOrder> orders) {
    model::PoolCommand command;
    command.number = ++last_;
    command.orders = std::move(orders);
    act(PoolCommandReceived{command});
  }

  template <class Event>
  void act(Event event) {
    listen(driver_.tell(event));
    obey();
  }

  void wait(Duration duration) {
    listen(driver_.wait(duration));
    obey();
  }

  void listen(const Effects& effects) {
    for (const Action& action : effects.at_once) todo_.emplace_back(action);
    for (const PoolAction& action : effects.for_pools) todo_.emplace_back(action);
    for (const model::Report& report : effects.reports) {
      if (!report.pool) continue;
      acted_ = report.pool->acted;
      for (const auto& instance : report.pool->instances) instances_[instance.key] = instance;
      for (const auto& session : report.pool->sessions) {
        sessions_[session.session.ref.key.name] = session;
      }
    }
  }

  void obey() {
    while (!todo_.empty()) {
      const Task task = todo_.front();
      todo_.erase(todo_.begin());
      done_.push_back(task);
      const auto obey_it = [this](const auto& what) { do_it(what); };
      std::visit([&](const auto& actions) { std::visit(obey_it, actions); }, task);
    }
  }

  void do_it(const Furnish& what) {
    Furnished done{what.key, {}, "/run/s", "secret", ""};
    for (const model::Port& port : what.ports)
      done.ports.push_back({port, "", 0, "127.0.0.1:41000"});
    act(done);
  }
  void do_it(const Start& what) {
    if (!hangs_) act(Started{what.spec.key, what.run});
  }
  void do_it(const Stop& what) { act(Exited{.key = what.key, .run = what.run, .exit_code = 143}); }
  void do_it(const SetPausing& what) {
    act(PausingSet{what.key, what.run, what.order, cannot_pause_ ? "no freezer" : ""});
  }
  void do_it(const OpenInApp& what) {
    if (!hangs_) act(AppOpened{what.key, what.session, ""});
  }
  void do_it(const CloseInApp& what) {
    if (!hangs_) act(AppClosed{what.key, what.session});
  }
  void do_it(const OpenEndpoints& what) {
    act(EndpointsOpened{what.ref, what.instance, taken_ ? "20000 is taken" : ""});
  }
  void do_it(const CloseEndpoints& what) { act(EndpointsClosed{what.ref, what.instance}); }
  template <class Other>
  void do_it(const Other&) {}

  model::StartPoolInstance a_start(std::uint32_t number, model::SessionOptions sessions) {
    model::InstanceSpec spec = a_spec("echo");
    spec.key = echo(number);
    spec.item.ports = {{7000, model::Protocol::Tcp}};
    return {spec, 7, std::move(sessions)};
  }

  template <class A>
  std::vector<A> done() const {
    std::vector<A> found;
    const auto look_at = [&found](const auto& action) {
      if constexpr (std::is_same_v<std::decay_t<decltype(action)>, A>) found.push_back(action);
    };
    for (const Task& task : done_) {
      std::visit([&](const auto& actions) { std::visit(look_at, actions); }, task);
    }
    return found;
  }
  template <class A>
  std::size_t count() const {
    return done<A>().size();
  }

  PoolInstanceState state(std::uint32_t number) { return instances_.at(echo(number)).state; }
  SessionState state(const std::string& session) { return sessions_.at(session).state; }
  std::string reason(const std::string& session) { return sessions_.at(session).reason.reason; }

  Driver driver_;
  std::uint64_t last_ = 0;
  std::uint64_t acted_ = 0;
  bool hangs_ = false;
  bool taken_ = false;
  bool cannot_pause_ = false;
  std::vector<Task> todo_;
  std::vector<Task> done_;
  std::map<model::InstanceKey, model::ReportedPoolInstance> instances_;
  std::map<std::string, model::ReportedSession> sessions_;
};

TEST_F(PoolTest, StartsWhatItIsToldWithPortsOfItsOwnAndWritesNothing) {
  driver_.tell();
  tell({a_start(1, options())});
  EXPECT_EQ(state(1), PoolInstanceState::Running);
  EXPECT_EQ(acted_, 1u);
  const Start start = done<Start>().at(0);
  EXPECT_EQ(start.spec.item.env.at("BERTH_PORT_7000"), "41000");
  EXPECT_EQ(instances_.at(echo(1)).edition, 7u);
}

TEST_F(PoolTest, ARepeatedCommandIsNothingNewAndOneAfterAGapWaits) {
  tell({a_start(1, options())});
  --last_;
  tell({a_start(2, options())});
  EXPECT_FALSE(instances_.contains(echo(2)));
  last_ = 2;
  tell({a_start(3, options())});
  EXPECT_FALSE(instances_.contains(echo(3)));
  EXPECT_EQ(acted_, 1u);
}

TEST_F(PoolTest, ASessionIsAvailableWhenItsEndpointsAreOpen) {
  tell({a_start(1, options()), model::OpenSession{a_session("blue")}});
  EXPECT_EQ(state("blue"), SessionState::Available);
  EXPECT_EQ(sessions_.at("blue").session.ports[0].internal, "127.0.0.1:41000");
}

TEST_F(PoolTest, AnAppIsAskedFirst) {
  hangs_ = true;
  tell({a_start(1, with_service())});
  act(Started{echo(1), {{0, 1}, 1}});
  EXPECT_EQ(state(1), PoolInstanceState::Starting);
  act(AppConnected{echo(1)});
  EXPECT_EQ(state(1), PoolInstanceState::Running);
  tell({model::OpenSession{a_session("blue")}});
  EXPECT_EQ(state("blue"), SessionState::Starting);
  EXPECT_EQ(count<OpenEndpoints>(), 0u);
  act(AppOpened{echo(1), "blue", ""});
  EXPECT_EQ(state("blue"), SessionState::Available);
  act(AppCounted{echo(1), "blue", 2});
  EXPECT_EQ(state("blue"), SessionState::InUse);
}

TEST_F(PoolTest, AReusableInstanceIsReadyAgainAfterASession) {
  tell({a_start(1, options()), model::OpenSession{a_session("blue")}});
  tell({model::CloseSession{{{"games", "blue"}, 1}, echo(1), 30s, {}}});
  EXPECT_EQ(state("blue"), SessionState::Closed);
  EXPECT_EQ(state(1), PoolInstanceState::Running);
  EXPECT_EQ(count<CloseEndpoints>(), 1u);
  EXPECT_EQ(count<Stop>(), 0u);
}

TEST_F(PoolTest, AnotherIsStoppedWithItsGrace) {
  tell({a_start(1, {}), model::OpenSession{a_session("blue")}});
  tell({model::CloseSession{{{"games", "blue"}, 1}, echo(1), 30s, {}}});
  EXPECT_EQ(state("blue"), SessionState::Closed);
  EXPECT_EQ(state(1), PoolInstanceState::Gone);
}

TEST_F(PoolTest, AnAppThatDoesNotCloseInTimeIsStopped) {
  tell({a_start(1, with_service())});
  act(AppConnected{echo(1)});
  tell({model::OpenSession{a_session("blue")}});
  hangs_ = true;
  tell({model::CloseSession{{{"games", "blue"}, 1}, echo(1), 20s, {}}});
  EXPECT_EQ(state("blue"), SessionState::Closing);
  EXPECT_EQ(count<RefuseNew>(), 1u);
  wait(19s);
  EXPECT_EQ(state("blue"), SessionState::Closing);
  wait(1s);
  EXPECT_EQ(state("blue"), SessionState::Closed);
  EXPECT_EQ(state(1), PoolInstanceState::Gone);
}

TEST_F(PoolTest, NobodyHasToClaimAfterTheFirstConnection) {
  tell({a_start(1, options()), model::OpenSession{a_session("blue")},
        model::OpenSession{a_session("red")}});
  act(EndpointUsed{{{"games", "blue"}, 1}, echo(1)});
  wait(60s);
  EXPECT_EQ(state("blue"), SessionState::Available);
  EXPECT_EQ(state("red"), SessionState::Closed);
  EXPECT_EQ(reason("red"), "NotClaimed");
}

TEST_F(PoolTest, TimeToLiveAndIdleTimeAreExact) {
  model::SessionSpec blue = a_session("blue");
  blue.claim = 0s;
  blue.ttl = 100s;
  model::SessionSpec red = a_session("red");
  red.idle_timeout = 50s;
  tell({a_start(1, options()), model::OpenSession{blue}, model::OpenSession{red}});
  act(AppCounted{echo(1), "red", 1});
  wait(49s);
  act(AppCounted{echo(1), "red", 0});
  wait(49s);
  EXPECT_EQ(state("red"), SessionState::InUse);
  wait(1s);
  EXPECT_EQ(reason("red"), "Idle");
  EXPECT_EQ(state("blue"), SessionState::Available);
  wait(1s);
  EXPECT_EQ(reason("blue"), "Expired");
}

TEST_F(PoolTest, ALostSessionIsNeverCalledClosing) {
  tell({a_start(1, options()), model::OpenSession{a_session("blue")}});
  const Effects& effects = driver_.tell(Exited{.key = echo(1), .run = {{0, 1}, 1}, .exit_code = 3});
  for (const model::Report& report : effects.reports) {
    for (const auto& session : report.pool->sessions) {
      EXPECT_NE(session.state, SessionState::Closing);
    }
  }
}

TEST_F(PoolTest, ASessionIsLostWithItsInstance) {
  tell({a_start(1, options()), model::OpenSession{a_session("blue")}});
  act(Exited{.key = echo(1), .run = {{0, 1}, 1}, .exit_code = 3});
  EXPECT_EQ(state("blue"), SessionState::Failed);
  EXPECT_EQ(reason("blue"), "Exited");
  EXPECT_EQ(state(1), PoolInstanceState::Gone);
}

TEST_F(PoolTest, AnAppThatIsSilentForThreePeriodsIsStale) {
  tell({a_start(1, with_service())});
  act(AppConnected{echo(1)});
  tell({model::OpenSession{a_session("blue")}});
  wait(29s);
  act(AppPinged{echo(1)});
  wait(29s);
  EXPECT_EQ(state("blue"), SessionState::Available);
  wait(1s);
  EXPECT_EQ(reason("blue"), "Stale");
  EXPECT_EQ(state(1), PoolInstanceState::Gone);
}

TEST_F(PoolTest, ATakenPortFailsTheSessionAndKeepsTheInstance) {
  tell({a_start(1, options())});
  taken_ = true;
  tell({model::OpenSession{a_session("blue")}});
  EXPECT_EQ(reason("blue"), "PortTaken");
  EXPECT_EQ(state(1), PoolInstanceState::Running);
}

TEST_F(PoolTest, StandsStillAndIsWokenByASession) {
  tell({a_start(1, options()), model::SetPoolPausing{echo(1), model::Pausing::Paused}});
  EXPECT_EQ(state(1), PoolInstanceState::Paused);
  tell({model::SetPoolPausing{echo(1), model::Pausing::Running},
        model::OpenSession{a_session("blue")}});
  EXPECT_EQ(state("blue"), SessionState::Available);
}

TEST_F(PoolTest, ARuntimeThatCannotPauseSaysSo) {
  cannot_pause_ = true;
  tell({a_start(1, options()), model::SetPoolPausing{echo(1), model::Pausing::Paused}});
  EXPECT_TRUE(instances_.at(echo(1)).cannot_pause);
  EXPECT_EQ(instances_.at(echo(1)).problem.message, "no freezer");
}

TEST_F(PoolTest, GoesOnAfterARestartWithWhatWasKeptBesideTheRun) {
  tell({a_start(1, options()), model::OpenSession{a_session("blue")}});
  const auto notes = done<KeepNote>();
  ASSERT_FALSE(notes.empty());
  FoundRun found{echo(1), {{0, 1}, 1}, model::ItemType::Service, "1"};
  found.spec = a_start(1, options()).spec;
  found.pool = notes.back().note;
  driver_.restart();
  done_.clear();
  sessions_.clear();
  driver_.tell(Connected{2}, a_node());
  act(a_list("crun", {found}));
  EXPECT_EQ(state("blue"), SessionState::Available);
  EXPECT_EQ(count<OpenEndpoints>(), 1u);
  EXPECT_EQ(count<Stop>(), 0u);
  wait(60s);
  EXPECT_EQ(reason("blue"), "NotClaimed");
}

TEST_F(PoolTest, AfterARestartTheSessionServiceLearnsWhatItsAppHas) {
  tell({a_start(1, with_service())});
  act(AppConnected{echo(1)});
  tell({model::OpenSession{a_session("blue")}});
  EXPECT_EQ(done<Start>().at(0).spec.session_socket, "/run/s");
  FoundRun found{echo(1), {{0, 1}, 1}, model::ItemType::Service, "1"};
  found.spec = done<Start>().at(0).spec;
  found.pool = done<KeepNote>().back().note;
  driver_.restart();
  done_.clear();
  driver_.tell(Connected{2}, a_node());
  act(a_list("crun", {found}));
  const auto served = done<ServeApp>();
  ASSERT_EQ(served.size(), 1u);
  EXPECT_EQ(served[0].token, "secret");
  EXPECT_EQ(served[0].ports, found.pool->ports);
  EXPECT_EQ(done<OpenInApp>(), (std::vector<OpenInApp>{{echo(1), "blue", "hello"}}));
  EXPECT_EQ(state("blue"), SessionState::Available);
}

TEST_F(PoolTest, AfterARestartWhatStandsStillIsNeverCalledRunning) {
  tell({a_start(1, options()), model::SetPoolPausing{echo(1), model::Pausing::Paused}});
  FoundRun found{echo(1), {{0, 1}, 1}, model::ItemType::Service, "1"};
  found.spec = a_start(1, options()).spec;
  found.spec->paused = true;
  found.pool = done<KeepNote>().back().note;
  driver_.restart();
  instances_.clear();
  driver_.tell(Connected{2}, a_node());
  listen(driver_.tell(a_list("crun", {found})));
  EXPECT_EQ(state(1), PoolInstanceState::Paused);
  obey();
  EXPECT_EQ(state(1), PoolInstanceState::Paused);
}

TEST_F(PoolTest, ARunThatWasToldToStopIsNotTakenForOneThatServes) {
  FoundRun found{echo(1), {{0, 1}, 1}, model::ItemType::Service, "1"};
  driver_.restart();
  driver_.tell(Connected{2}, a_node());
  listen(driver_.tell(a_list("crun", {found})));
  EXPECT_EQ(state(1), PoolInstanceState::Stopping);
  obey();
  EXPECT_EQ(count<Stop>(), 1u);
  EXPECT_EQ(state(1), PoolInstanceState::Gone);
}

TEST_F(PoolTest, WhatItsRuntimeRefusesIsGoneAtOnce) {
  driver_.tell(a_node({a_runtime("crun", model::Readiness::NotReady)}));
  tell({a_start(1, options())});
  EXPECT_EQ(state(1), PoolInstanceState::Gone);
  EXPECT_EQ(instances_.at(echo(1)).problem.hindrance, model::Hindrance::RuntimeNotReady);
}

TEST_F(PoolTest, NothingOfItIsDurable) {
  tell({a_start(1, options()), model::OpenSession{a_session("blue")}});
  EXPECT_TRUE(driver_.tell(EndpointUsed{{{"games", "blue"}, 1}, echo(1)}).writes.empty());
}

// --- As the gateway of others ------------------------------------------------------------------

TEST_F(PoolTest, TheGatewayForwardsToInstancesOfOtherNodes) {
  model::SessionSpec session = a_session("blue", 9);
  session.claim = {};
  session.ports[0].internal = "192.0.2.7:20004";
  tell({model::OpenSession{session}});
  ASSERT_EQ(count<OpenEndpoints>(), 1u);
  EXPECT_TRUE(done<OpenEndpoints>()[0].is_elsewhere);
  EXPECT_EQ(done<OpenEndpoints>()[0].ports, session.ports);
  EXPECT_EQ(state("blue"), SessionState::Available);
  tell({model::OpenSession{session}});
  EXPECT_EQ(count<OpenEndpoints>(), 1u) << "the same again is nothing new";
  wait(2min);
  EXPECT_EQ(state("blue"), SessionState::Available) << "it has no clocks";
  tell({model::CloseSession{session.ref, session.instance, {}, {"Closed", ""}}});
  EXPECT_EQ(count<CloseEndpoints>(), 1u);
  EXPECT_EQ(state("blue"), SessionState::Closed);
  tell({model::CloseSession{session.ref, session.instance, {}, {"Closed", ""}}});
  EXPECT_EQ(state("blue"), SessionState::Closed) << "whoever asks again hears it";
}

TEST_F(PoolTest, TheGatewaySaysThatAStrangerHasThePort) {
  taken_ = true;
  model::SessionSpec session = a_session("blue", 9);
  session.ports[0].internal = "192.0.2.7:20004";
  tell({model::OpenSession{session}});
  EXPECT_EQ(state("blue"), SessionState::Failed);
  EXPECT_EQ(reason("blue"), "PortTaken");
}

TEST_F(PoolTest, AFullReportHasWhatTheGatewayForwards) {
  model::SessionSpec session = a_session("blue", 9);
  session.claim = {};
  session.ports[0].internal = "192.0.2.7:20004";
  tell({model::OpenSession{session}});
  sessions_.clear();
  listen(driver_.tell(Connected{2}, a_node()));
  ASSERT_TRUE(sessions_.contains("blue"));
  EXPECT_EQ(state("blue"), SessionState::Available);
}

}  // namespace
}  // namespace berth::agent
