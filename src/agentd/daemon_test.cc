#include "agentd/daemon.h"

#include <gtest/gtest.h>

#include <future>

#include "agentd/testing/fakes.h"
#include "codec/wire.h"

namespace berth::agentd {
namespace {

using testing::a_command;
using testing::a_spec;
using testing::FakeMachine;
using testing::FakeServer;
using testing::FakeStore;
using testing::key_of;
using testing::RunningAgent;

using Items = std::vector<std::string>;

bool is_active(const v1::ReportedStatus& status) { return status.state() == v1::ACTIVE; }

class DaemonTest : public ::testing::Test {
 protected:
  FakeMachine machine_;
  FakeStore store_;
  FakeServer server_;
};

TEST_F(DaemonTest, WhatIsToldIsDurableBeforeItIsStarted) {
  std::atomic<bool> was_durable = false;
  machine_.when_started = [&](const model::InstanceSpec& spec) {
    was_durable = store_.get("wanted/" + model::to_string(spec.key))->has_value();
  };
  const RunningAgent agent(machine_, store_, &server_);
  server_.say(a_command(1, {a_spec("web")}));
  EXPECT_TRUE(server_.wait_for_status("web", is_active));
  EXPECT_TRUE(was_durable);
}

// States on no disk: what was taken, and what is found when a run ends.
struct FakeStates {
  std::promise<model::SavedState> taken;
  std::string found;

  std::function<void(Config&, Dependencies&)> installed() {
    return [this](Config&, Dependencies& dependencies) {
      dependencies.states.take =
          [this](const model::InstanceSpec&,
                 const model::SavedState& state) -> tl::expected<void, model::Problem> {
        taken.set_value(state);
        return {};
      };
      dependencies.states.look =
          [this](const model::InstanceKey& key) -> std::optional<agent::StateSaved> {
        if (found.empty()) return std::nullopt;
        return agent::StateSaved{key, Bytes(1), "digest-of-" + found, found};
      };
    };
  }
};

TEST_F(DaemonTest, AStateThatIsHandedIsTakenBeforeTheStart) {
  FakeStates states;
  const RunningAgent agent(machine_, store_, &server_, states.installed());
  model::Command command = a_command(1, {a_spec("web")});
  command.states = {{key_of("web"), 4, "digest", "content"}};
  server_.say(command);
  EXPECT_EQ(states.taken.get_future().get().content, "content");
  EXPECT_TRUE(server_.wait_for_status("web", is_active));
}

TEST_F(DaemonTest, WhatAnInstanceHasLeftIsReportedWithItsEnd) {
  FakeStates states;
  const RunningAgent agent(machine_, store_, &server_, states.installed());
  server_.say(a_command(1, {a_spec("web")}));
  ASSERT_TRUE(server_.wait_for_status("web", is_active));
  states.found = "left";
  server_.say(a_command(2, {}));
  EXPECT_TRUE(server_.wait_for([](const v1::FromAgent& message) {
    const v1::Report& report = message.report();
    return report.states_size() == 1 && report.states(0).content() == "left" &&
           (report.gone_size() == 1 || report.full());
  }));
}

TEST_F(DaemonTest, AFullDiskDelaysAndHurtsNothingThatRuns) {
  const RunningAgent agent(machine_, store_, &server_);
  server_.say(a_command(1, {a_spec("web")}));
  ASSERT_TRUE(server_.wait_for_status("web", is_active));
  store_.is_full = true;
  server_.say(a_command(2, {a_spec("web"), a_spec("db")}));
  while (store_.refused < 2) std::this_thread::yield();  // it was tried again
  EXPECT_EQ(machine_.starts(), Items{"web"});
  EXPECT_EQ(machine_.running(), 1U);
  store_.is_full = false;
  EXPECT_TRUE(server_.wait_for_status("db", is_active));
  EXPECT_EQ(machine_.starts(), (Items{"web", "db"}));
  EXPECT_TRUE(machine_.stops().empty());
}

TEST_F(DaemonTest, ANodeThatCannotWriteIsNotInErrorAndTellsTheTruth) {
  std::optional<model::NodeInfo> node;
  const auto says = [&](bool can_write) {
    return [&node, can_write](const v1::FromAgent& message) {
      const auto report = codec::from_wire(message.report());
      if (report && report->node) node = report->node;
      return report && report->node && report->node->store_problem.empty() == can_write;
    };
  };
  const RunningAgent agent(machine_, store_, &server_);
  server_.say(a_command(1, {a_spec("web"), a_spec("job"), a_spec("old")}));
  for (const char* item : {"web", "job", "old"}) {
    ASSERT_TRUE(server_.wait_for_status(item, is_active));
  }
  store_.is_full = true;
  model::InstanceSpec changed = a_spec("web");
  changed.item.env["A"] = "b";
  server_.say(a_command(2, {changed, a_spec("job"), a_spec("db")}));
  ASSERT_TRUE(server_.wait_for(says(false)));
  EXPECT_EQ(node->state, model::NodeState::Provisioned);
  EXPECT_NE(node->store_problem.find("no space left"), std::string::npos);
  EXPECT_TRUE(server_.wait_for_status("db", [](const v1::ReportedStatus& status) {
    return status.problem().reason() == "StoreNotWritable";
  }));
  EXPECT_TRUE(machine_.wait([&] { return machine_.stops() == Items{"old"}; }));
  machine_.end("job", 3);
  EXPECT_TRUE(server_.wait_for_status("job", [](const v1::ReportedStatus& status) {
    return status.has_exit_code() && status.exit_code() == 3;
  }));
  EXPECT_TRUE(machine_.forgotten().empty()) << "its end is not durable";
  EXPECT_EQ(machine_.running(), 1U) << "what cannot be replaced goes on";
  store_.is_full = false;
  EXPECT_TRUE(server_.wait_for_status("db", is_active));
  EXPECT_TRUE(machine_.wait([&] { return machine_.running() == 3; }));
  EXPECT_TRUE(machine_.wait([&] { return machine_.forgotten().size() >= 2; }));
  EXPECT_EQ(machine_.stops(), (Items{"old", "web"}));
}

TEST_F(DaemonTest, AnAgentWhoseStoreIsLostAdoptsWhatRuns) {
  {
    const RunningAgent agent(machine_, store_, &server_);
    server_.say(a_command(1, {a_spec("web"), a_spec("old")}));
    ASSERT_TRUE(server_.wait_for_status("web", is_active));
    ASSERT_TRUE(server_.wait_for_status("old", is_active));
  }
  FakeStore empty;
  FakeServer later;
  const RunningAgent agent(machine_, empty, &later, [](Config&, Dependencies& dependencies) {
    dependencies.store.was_lost = true;
  });
  EXPECT_TRUE(later.wait_for_status("web", is_active));
  EXPECT_TRUE(machine_.stops().empty());
  later.say(a_command(2, {a_spec("web")}));
  EXPECT_TRUE(machine_.wait([&] { return machine_.stops() == Items{"old"}; }));
  EXPECT_EQ(machine_.starts().size(), 2U) << "nothing was started again";
}

// It is an older one that was put in its place: only this life can see that.
TEST_F(DaemonTest, AnAgentWhoseStoreIsLostIsInDoubtAlsoInItsNextLife) {
  FakeStore older;
  {
    const RunningAgent agent(machine_, older, nullptr, [](Config&, Dependencies& dependencies) {
      dependencies.store.was_lost = true;
    });
  }
  const RunningAgent agent(machine_, older, &server_);
  EXPECT_TRUE(server_.wait_for([](const v1::FromAgent& message) {
    return message.report().full() && message.report().in_doubt();
  }));
}

TEST_F(DaemonTest, AnAgentThatEndsLeavesItsInstancesAndTheNextAdoptsThem) {
  {
    const RunningAgent agent(machine_, store_, &server_);
    server_.say(a_command(1, {a_spec("web")}));
    ASSERT_TRUE(server_.wait_for_status("web", is_active));
  }
  EXPECT_EQ(machine_.running(), 1U);
  FakeServer later;
  const RunningAgent agent(machine_, store_, &later);
  EXPECT_TRUE(later.wait_for_status("web", is_active));
  EXPECT_EQ(machine_.starts(), Items{"web"});
  EXPECT_TRUE(machine_.stops().empty());
}

TEST_F(DaemonTest, WhatIsWantedStartsWithNobodyToTalkTo) {
  {
    const RunningAgent agent(machine_, store_, &server_);
    server_.say(a_command(1, {a_spec("web")}));
    ASSERT_TRUE(server_.wait_for_status("web", is_active));
  }
  FakeMachine rebooted;
  const RunningAgent alone(rebooted, store_, nullptr);
  EXPECT_TRUE(rebooted.wait([&] { return rebooted.starts() == Items{"web"}; }));
}

TEST_F(DaemonTest, ExitCodesAreReportedAndThenForgotten) {
  const RunningAgent agent(machine_, store_, &server_);
  model::InstanceSpec job = a_spec("job");
  job.item.restart.mode = model::RestartMode::Never;
  server_.say(a_command(1, {job}));
  ASSERT_TRUE(server_.wait_for_status("job", is_active));
  machine_.end("job", 3);
  EXPECT_TRUE(server_.wait_for_status("job", [](const v1::ReportedStatus& status) {
    return status.finished() && status.exit_code() == 3;
  }));
  EXPECT_TRUE(machine_.wait([&] { return machine_.forgotten() == Items{"job"}; }));
}

TEST_F(DaemonTest, AnInvalidCommandIsIgnored) {
  const RunningAgent agent(machine_, store_, &server_);
  v1::ToAgent nonsense;
  nonsense.mutable_command()->add_run()->mutable_key()->set_item("../../etc");
  nonsense.mutable_command()->mutable_number()->set_number(1);
  server_.say(nonsense);
  server_.say(a_command(2, {a_spec("web")}));
  EXPECT_TRUE(server_.wait_for_status("web", is_active));
  EXPECT_EQ(machine_.starts(), Items{"web"});
}

TEST_F(DaemonTest, ReconnectingTellsAllAndRestartsNothing) {
  const RunningAgent agent(machine_, store_, &server_);
  server_.say(a_command(1, {a_spec("web")}));
  ASSERT_TRUE(server_.wait_for_status("web", is_active));
  server_.disconnect();
  server_.connect();
  EXPECT_TRUE(server_.wait_for([](const v1::FromAgent& message) {
    return message.report().full() && message.report().instances_size() == 1;
  }));
  EXPECT_EQ(machine_.starts(), Items{"web"});
}

TEST_F(DaemonTest, UsageTravelsWithHeartbeats) {
  const RunningAgent agent(machine_, store_, &server_);
  machine_.consume("web", {.cpu_time = {}, .ram = Bytes(1 << 20)});
  EXPECT_TRUE(server_.wait_for([](const v1::FromAgent& message) {
    const v1::Report& report = message.report();
    return !report.full() && report.instances_size() == 0 && report.node().empty() &&
           report.usage().ram() > (1 << 20);  // the instance and the agent itself
  }));
}

TEST_F(DaemonTest, WhatIsMeasuredOfTheNodeCanBeReadByTheOtherEnd) {
  const RunningAgent agent(machine_, store_, &server_);
  std::optional<Result<model::Report>> read;
  ASSERT_TRUE(server_.wait_for([&](const v1::FromAgent& message) {
    if (message.report().measurement().partitions().empty()) return false;
    read = codec::from_wire(message.report());
    return true;
  }));
  EXPECT_TRUE(*read) << read->error().message;
}

TEST_F(DaemonTest, AllInstancesAreStoppedAtTheEndIfThatIsWanted) {
  {
    const RunningAgent agent(machine_, store_, &server_, [](Config& config, Dependencies&) {
      config.stop_instances_on_exit = true;
    });
    server_.say(a_command(1, {a_spec("base", 100), a_spec("app", 10), a_spec("toy", 1)}));
    for (const char* item : {"base", "app", "toy"}) {
      ASSERT_TRUE(server_.wait_for_status(item, is_active));
    }
  }
  EXPECT_EQ(machine_.running(), 0U);
  EXPECT_EQ(machine_.stops(), (Items{"toy", "app", "base"}));
}

TEST_F(DaemonTest, HealthIsCheckedAndReported) {
  const auto unhealthy = [](Config&, Dependencies& dependencies) {
    dependencies.instances.check_health = [](const model::InstanceSpec&, runtime::Runtime&) {
      return runtime::HealthAnswer{.healthy = false, .message = "no answer at all"};
    };
  };
  const RunningAgent agent(machine_, store_, &server_, unhealthy);
  model::InstanceSpec spec = a_spec("web");
  spec.item.health = model::HealthCheck{model::TcpCheck{80}, 10ms, 1};
  server_.say(a_command(1, {spec}));
  EXPECT_TRUE(server_.wait_for_status("web", [](const v1::ReportedStatus& status) {
    return status.problem().message().find("no answer at all") != std::string::npos;
  }));
}

TEST_F(DaemonTest, ADamagedRecordPutsTheAgentInDoubtAndIsTakenAway) {
  ASSERT_TRUE(store_.commit({{"acted", "?"}}));
  const RunningAgent agent(machine_, store_, &server_);
  EXPECT_TRUE(server_.wait_for([](const v1::FromAgent& message) {
    return message.report().full() && message.report().in_doubt();
  }));
  EXPECT_FALSE(store_.get("acted")->has_value());
}

// --- Streams -----------------------------------------------------------------------------------

v1::ToAgent open_logs(std::uint64_t stream, bool follow) {
  v1::ToAgent message;
  v1::OpenLogs& open = *message.mutable_open_logs();
  open.set_stream(stream);
  open.mutable_key()->set_item("web");
  open.mutable_key()->set_subject("vehicle");
  open.set_tail(2);
  open.set_follow(follow);
  return message;
}

runtime::LogLine a_line(const std::string& text) { return {.time = "", .text = text}; }

bool ends(const v1::FromAgent& message, std::uint64_t stream) {
  return message.stream().stream() == stream && message.stream().end();
}

// A log whose next lines the test gives; shared, for the reader outlives the opening.
struct FakeLog {
  shell::Mailbox<runtime::LogLine> lines{100};

  std::function<void(Config&, Dependencies&)> installed() {
    return [this](Config&, Dependencies& dependencies) {
      dependencies.instances.open_log = [this](const model::InstanceKey& key,
                                               std::size_t) -> Result<ReadLog> {
        if (key != key_of("web")) return not_found("no such log");
        return ReadLog([this](Duration wait) { return lines.take(shell::now() + wait); });
      };
    };
  }
};

TEST_F(DaemonTest, LogsAreSentToTheirEnd) {
  FakeLog log;
  ASSERT_TRUE(log.lines.post(a_line("one")));
  ASSERT_TRUE(log.lines.post(a_line("two")));
  const RunningAgent agent(machine_, store_, &server_, log.installed());
  server_.say(open_logs(5, false));
  ASSERT_TRUE(server_.wait_for([](const auto& message) { return ends(message, 5); }));
  EXPECT_EQ(server_.data_of(5), "one\ntwo\n");
}

TEST_F(DaemonTest, FollowedLogsGoOnUntilTheOtherSideHasEnough) {
  FakeLog log;
  const RunningAgent agent(machine_, store_, &server_, log.installed());
  server_.say(open_logs(6, true));
  ASSERT_TRUE(log.lines.post(a_line("later")));
  ASSERT_TRUE(
      server_.wait_for([](const auto& message) { return message.stream().data() == "later\n"; }));
  v1::ToAgent enough;
  enough.mutable_stream()->set_stream(6);
  enough.mutable_stream()->set_end(true);
  server_.say(enough);
  EXPECT_TRUE(server_.wait_for([](const auto& message) { return ends(message, 6); }));
}

TEST_F(DaemonTest, ALogThatIsNotThereIsAnError) {
  FakeLog log;
  const RunningAgent agent(machine_, store_, &server_, log.installed());
  v1::ToAgent message = open_logs(7, false);
  message.mutable_open_logs()->mutable_key()->set_item("other");
  server_.say(message);
  EXPECT_TRUE(server_.wait_for([](const v1::FromAgent& sent) {
    return sent.stream().stream() == 7 && sent.stream().error().reason() == "NotFound";
  }));
}

v1::ToAgent open_exec(std::uint64_t stream) {
  v1::ToAgent message;
  v1::OpenExec& open = *message.mutable_open_exec();
  open.set_stream(stream);
  open.mutable_key()->set_item("web");
  open.mutable_key()->set_subject("vehicle");
  open.add_command("cat");
  return message;
}

TEST_F(DaemonTest, ASessionTalksBothWaysAndEndsWithItsCode) {
  const RunningAgent agent(machine_, store_, &server_);
  server_.say(a_command(1, {a_spec("web")}));
  ASSERT_TRUE(server_.wait_for_status("web", is_active));
  server_.say(open_exec(8));
  v1::ToAgent input;
  input.mutable_stream()->set_stream(8);
  input.mutable_stream()->set_data("hello");
  input.mutable_stream()->set_end(true);
  server_.say(input);
  ASSERT_TRUE(server_.wait_for([](const v1::FromAgent& message) {
    return message.stream().stream() == 8 && message.stream().has_exit_code() &&
           message.stream().exit_code() == 7;
  }));
  EXPECT_EQ(server_.data_of(8), "hello");
}

TEST_F(DaemonTest, ASessionInWhatDoesNotRunIsAnError) {
  const RunningAgent agent(machine_, store_, &server_);
  server_.say(open_exec(9));
  EXPECT_TRUE(server_.wait_for([](const v1::FromAgent& message) {
    return message.stream().stream() == 9 && message.stream().error().reason() == "NotFound";
  }));
}

// --- Runtimes that hang, come and go -------------------------------------------------------------

RuntimeConfig a_runtime(const std::string& name) {
  return {.name = name, .probe_period = 20ms, .probe_deadline = 20ms};
}

class RuntimesTest : public DaemonTest {
 protected:
  std::function<void(Config&, Dependencies&)> with(const std::vector<std::string>& names) {
    return [names](Config& config, Dependencies&) {
      config.runtimes.clear();
      for (const std::string& name : names) config.runtimes.push_back(a_runtime(name));
    };
  }

  // Waits for a report with the node's runtimes, as "name state reason".
  bool wait_for_runtimes(const std::vector<std::string>& wanted) {
    return server_
        .wait_for([&](const v1::FromAgent& message) {
          if (message.report().node().empty()) return false;
          const auto report = codec::from_wire(message.report());
          if (!report || !report->node) return false;
          std::vector<std::string> states;
          for (const model::Runtime& one : report->node->runtimes) {
            states.push_back(one.id.value() + " " + std::string(model::to_string(one.ready)));
            if (!one.reason.empty()) states.back() += " " + one.reason;
          }
          return states == wanted;
        })
        .has_value();
  }

  static model::InstanceSpec on(const std::string& runtime, const std::string& item) {
    model::InstanceSpec spec = a_spec(item);
    spec.runtime = model::RuntimeId(runtime);
    return spec;
  }
};

TEST_F(RuntimesTest, OneThatHangsDelaysNobodyNotEvenTheEndOfTheAgent) {
  std::promise<void> wait_for_end;
  const std::shared_future<void> end = wait_for_end.get_future().share();
  machine_.when_probed = [&](const std::string& name) -> runtime::ProbeResult {
    if (name == "b") end.wait();
    if (name == "c") return runtime::compute_result("out of order");
    return {};
  };
  {
    const RunningAgent agent(machine_, store_, &server_, with({"a", "b", "c"}));
    EXPECT_TRUE(
        wait_for_runtimes({"a Ready", "b Unknown ProbeTimeout", "c NotReady ComputeNotReady"}));
  }  // it ends although one of its runtimes does not answer
  wait_for_end.set_value();
  EXPECT_TRUE(machine_.wait([&] { return !machine_.has_runtime("b"); }));
}

TEST_F(RuntimesTest, AnAnswerThatComesLateCounts) {
  std::promise<void> wait_for_end;
  const std::shared_future<void> end = wait_for_end.get_future().share();
  machine_.when_probed = [&](const std::string&) -> runtime::ProbeResult {
    end.wait();
    return {};
  };
  const RunningAgent agent(machine_, store_, &server_, with({"a"}));
  EXPECT_TRUE(wait_for_runtimes({"a Unknown ProbeTimeout"}));
  wait_for_end.set_value();
  EXPECT_TRUE(wait_for_runtimes({"a Ready"}));
}

TEST_F(RuntimesTest, OneThatFailsTurnsAwayWhatIsToStartThereInTheSameReport) {
  std::atomic<bool> is_broken = false;
  machine_.when_probed = [&](const std::string&) {
    return runtime::compute_result(is_broken ? "out of order" : "");
  };
  const RunningAgent agent(machine_, store_, &server_, with({"a"}));
  ASSERT_TRUE(wait_for_runtimes({"a Ready"}));
  server_.say(a_command(1, {on("a", "web")}));
  ASSERT_TRUE(server_.wait_for_status("web", is_active));
  is_broken = true;
  ASSERT_TRUE(wait_for_runtimes({"a NotReady ComputeNotReady"}));
  EXPECT_EQ(machine_.running(), 1U) << "what runs goes on";
  server_.say(a_command(2, {on("a", "web"), on("a", "late")}));
  EXPECT_TRUE(server_.wait_for_status("late", [](const v1::ReportedStatus& status) {
    return status.problem().reason() == "RuntimeNotReady" &&
           status.problem().message() == "runtime a is NotReady (ComputeNotReady): out of order";
  }));
  is_broken = false;
  EXPECT_TRUE(server_.wait_for_status("late", is_active));
  EXPECT_EQ(machine_.starts(), (Items{"web", "late"}));
}

TEST_F(RuntimesTest, OneThatIsAddedIsUsedAndTheOthersGoOn) {
  const RunningAgent agent(machine_, store_, &server_, with({"a"}));
  server_.say(a_command(1, {on("a", "old")}));
  ASSERT_TRUE(server_.wait_for_status("old", is_active));
  agent.daemon().set_runtimes({a_runtime("a"), a_runtime("b")});
  EXPECT_TRUE(wait_for_runtimes({"a Ready", "b Ready"}));
  server_.say(a_command(2, {on("a", "old"), on("b", "new")}));
  EXPECT_TRUE(server_.wait_for_status("new", is_active));
  EXPECT_EQ(machine_.starts(), (Items{"old", "new"}));
  EXPECT_TRUE(machine_.stops().empty());
}

TEST_F(RuntimesTest, WhatRunsOnOneThatIsRemovedGoesOnAndCanStillBeStopped) {
  const RunningAgent agent(machine_, store_, &server_, with({"a", "b"}));
  server_.say(a_command(1, {on("a", "web"), on("b", "other")}));
  ASSERT_TRUE(server_.wait_for_status("web", is_active));
  ASSERT_TRUE(server_.wait_for_status("other", is_active));
  agent.daemon().set_runtimes({a_runtime("b")});
  ASSERT_TRUE(wait_for_runtimes({"b Ready"}));
  EXPECT_EQ(machine_.running(), 2U);
  EXPECT_TRUE(machine_.has_runtime("a"));
  server_.say(a_command(2, {on("b", "other")}));
  EXPECT_TRUE(machine_.wait([&] { return machine_.stops() == Items{"web"}; }));
  EXPECT_TRUE(machine_.wait([&] { return !machine_.has_runtime("a"); })) << "nobody needs it now";
  EXPECT_EQ(machine_.running(), 1U);
}

TEST_F(RuntimesTest, OneThatComesBackHasWhatRunsOnIt) {
  const RunningAgent agent(machine_, store_, &server_, with({"a", "b"}));
  server_.say(a_command(1, {on("a", "web")}));
  ASSERT_TRUE(server_.wait_for_status("web", is_active));
  agent.daemon().set_runtimes({a_runtime("b")});
  ASSERT_TRUE(wait_for_runtimes({"b Ready"}));
  agent.daemon().set_runtimes({a_runtime("b"), a_runtime("a")});
  ASSERT_TRUE(wait_for_runtimes({"b Ready", "a Ready"}));
  EXPECT_EQ(machine_.starts(), Items{"web"});
  EXPECT_TRUE(machine_.stops().empty());
  EXPECT_EQ(machine_.running(), 1U);
}

TEST_F(RuntimesTest, WhatIsConfiguredOfARuntimeIsTold) {
  const auto change = [](Config& config, Dependencies&) {
    config.runtimes = {a_runtime("a")};
    config.runtimes[0].primary = true;
    config.runtimes[0].grace = 7s;
    config.runtimes[0].limits = {.cpu = Dmips(5), .ram = Bytes(6), .instances = 7};
  };
  const RunningAgent agent(machine_, store_, &server_, change);
  EXPECT_TRUE(server_.wait_for([](const v1::FromAgent& message) {
    if (message.report().node().empty()) return false;
    const auto report = codec::from_wire(message.report());
    if (!report || !report->node || report->node->runtimes.empty()) return false;
    const model::Runtime& told = report->node->runtimes[0];
    return told.primary && told.grace == 7s && told.limits.instances == 7 &&
           told.limits.cpu == Dmips(5) && told.limits.ram == Bytes(6);
  }));
}

}  // namespace
}  // namespace berth::agentd
