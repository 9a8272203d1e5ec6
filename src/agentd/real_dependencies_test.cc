#include "agentd/real_dependencies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "agentd/testing/fakes.h"
#include "store/sqlite/sqlite_store.h"

namespace berth::agentd {
namespace {

namespace fs = std::filesystem;
using testing::a_command;
using testing::a_spec;
using testing::FakeMachine;
using testing::FakeServer;
using testing::RunningAgent;

const fs::path kShim = fs::path(BERTH_BIN_DIR) / "berth-shim";

model::InstanceSpec a_script(const std::string& item, const std::string& script) {
  model::InstanceSpec spec = a_spec(item);
  spec.item.images[0].form = model::CommandImage{{"/bin/sh", "-c", script}};
  spec.uid = getuid();
  spec.gid = getgid();
  return spec;
}

bool is_reported_active(const v1::ReportedStatus& status) { return status.state() == v1::ACTIVE; }

// Real processes, a real store; only the control plane is ours.
class RealDependencies : public ::testing::Test {
 protected:
  RealDependencies() {
    std::string pattern = (fs::temp_directory_path() / "agent-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~RealDependencies() override { fs::remove_all(directory_); }

  void SetUp() override {
    if (!fs::exists(kShim)) GTEST_SKIP() << kShim << " has not been built";
    auto opened = store::SqliteStore::open(store_file(directory_));
    ASSERT_TRUE(opened) << opened.error().message;
    store_.emplace(*std::move(opened));
  }

  enum class AtTheEnd { Leave, Stop };

  std::unique_ptr<RunningAgent> an_agent(FakeServer& server, AtTheEnd end) {
    const auto real = [this, end](Config& config, Dependencies& dependencies) {
      config.state_dir = directory_;
      config.shim = kShim;
      config.image_dir = directory_ / "images";
      config.runtimes = {{.name = "process", .type = model::RuntimeType::Process}};
      config.stop_grace = 100ms;
      config.stop_instances_on_exit = end == AtTheEnd::Stop;
      Dependencies made = real_dependencies(config, *store_, std::nullopt);
      made.open_link = dependencies.open_link;
      dependencies.runtimes.make = made.runtimes.make;
      dependencies.instances.open_log = made.instances.open_log;
    };
    return std::make_unique<RunningAgent>(unused_, *store_, &server, real);
  }

  std::string log_of(FakeServer& server, const std::string& item, std::uint64_t stream) {
    v1::ToAgent message;
    v1::OpenLogs& open = *message.mutable_open_logs();
    open.set_stream(stream);
    open.mutable_key()->set_item(item);
    open.mutable_key()->set_subject("vehicle");
    server.say(message);
    const auto ended = server.wait_for([&](const v1::FromAgent& sent) {
      return sent.stream().stream() == stream && (sent.stream().end() || sent.stream().has_error());
    });
    return ended ? server.data_of(stream) + ended->stream().error().message() : "no answer";
  }

  fs::path directory_;
  FakeMachine unused_;
  std::optional<store::SqliteStore> store_;
};

TEST_F(RealDependencies, AProcessOutlivesItsAgentAndIsAdopted) {
  {
    FakeServer server;
    const auto agent = an_agent(server, AtTheEnd::Leave);
    server.say(a_command(1, {a_script("web", "echo begun; exec sleep 1000")}));
    ASSERT_TRUE(server.wait_for_status("web", is_reported_active));
  }
  FakeServer server;
  const auto agent = an_agent(server, AtTheEnd::Stop);
  EXPECT_TRUE(server.wait_for_status("web", is_reported_active));
  std::uint64_t stream = 1;
  std::string log;
  while ((log = log_of(server, "web", stream++)).empty()) std::this_thread::yield();
  EXPECT_EQ(log, "begun\n");  // once, so it is the same process
}

TEST_F(RealDependencies, TheNodeSaysWhyItsInstancesHaveNoNetworks) {
  FakeServer server;
  const auto agent = an_agent(server, AtTheEnd::Stop);
  const auto sent =
      server.wait_for([](const v1::FromAgent& one) { return !one.report().node().empty(); });
  ASSERT_TRUE(sent);
  EXPECT_THAT(sent->report().node(),
              ::testing::HasSubstr("instances have no networks of their own here: the setting "
                                   "network is off"));
}

TEST_F(RealDependencies, ExitCodesComeThrough) {
  FakeServer server;
  const auto agent = an_agent(server, AtTheEnd::Stop);
  model::InstanceSpec job = a_script("job", "exit 3");
  job.item.restart.mode = model::RestartMode::Never;
  server.say(a_command(1, {job}));
  EXPECT_TRUE(server.wait_for_status("job", [](const v1::ReportedStatus& status) {
    return status.finished() && status.exit_code() == 3;
  }));
}

TEST_F(RealDependencies, ASessionTalksToARealProgram) {
  FakeServer server;
  const auto agent = an_agent(server, AtTheEnd::Stop);
  server.say(a_command(1, {a_script("web", "exec sleep 1000")}));
  ASSERT_TRUE(server.wait_for_status("web", is_reported_active));
  v1::ToAgent message;
  v1::OpenExec& open = *message.mutable_open_exec();
  open.set_stream(1);
  open.mutable_key()->set_item("web");
  open.mutable_key()->set_subject("vehicle");
  for (const char* word : {"/bin/sh", "-c", "cat; exit 9"}) open.add_command(word);
  server.say(message);
  v1::ToAgent input;
  input.mutable_stream()->set_stream(1);
  input.mutable_stream()->set_data("hello");
  input.mutable_stream()->set_end(true);
  server.say(input);
  const auto ended = server.wait_for([](const v1::FromAgent& sent) {
    return sent.stream().has_exit_code() || sent.stream().has_error();
  });
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->stream().error().message(), "");
  EXPECT_EQ(ended->stream().exit_code(), 9);
  EXPECT_EQ(server.data_of(1), "hello");
}

TEST_F(RealDependencies, WhatIsNoLongerWantedIsGone) {
  FakeServer server;
  const auto agent = an_agent(server, AtTheEnd::Stop);
  server.say(a_command(1, {a_script("web", "exec sleep 1000")}));
  ASSERT_TRUE(server.wait_for_status("web", is_reported_active));
  server.say(a_command(2, {}));
  EXPECT_TRUE(server.wait_for([](const v1::FromAgent& message) {
    return message.report().gone_size() == 1 && message.report().gone(0).item() == "web";
  }));
}

}  // namespace
}  // namespace berth::agentd
