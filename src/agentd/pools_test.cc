#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "agentd/real_dependencies.h"
#include "agentd/testing/fakes.h"
#include "codec/wire.h"
#include "model/application.h"
#include "runtime/supervision/command.h"
#include "session/testing/peers.h"
#include "store/sqlite/sqlite_store.h"

// Agents that are told about pools and sessions.
namespace berth::agentd {
namespace {

namespace fs = std::filesystem;
using model::PoolInstanceState;
using model::SessionState;
using session::testing::becomes;
using session::testing::Stream;
using testing::a_command;
using testing::a_spec;
using testing::FakeMachine;
using testing::FakeServer;
using testing::FakeStore;
using testing::RunningAgent;

const model::InstanceKey kInstance = model::pool_instance({"games", "echo"}, 7);

model::StartPoolInstance a_pool_instance(std::vector<std::string> command) {
  model::StartPoolInstance start{a_spec("echo"), 3, {}};
  start.spec.key = kInstance;
  start.spec.uid = ::getuid();
  start.spec.gid = ::getgid();
  start.spec.item.images[0].form = model::CommandImage{std::move(command)};
  start.spec.item.ports = {{7000, model::Protocol::Tcp}, {7000, model::Protocol::Udp}};
  return start;
}

// The control plane of one connection.
class PoolServer : public FakeServer {
 public:
  void order(model::PoolOrder order) {
    model::PoolCommand command{.epoch = 1, .life = 1, .number = ++last_, .orders = {}};
    command.orders.push_back(std::move(order));
    say(command);
  }

  bool hears_of(const model::InstanceKey& key, PoolInstanceState state) {
    return hears([&](const model::PoolReport& report) {
      return std::ranges::any_of(report.instances, [&](const model::ReportedPoolInstance& one) {
        return one.key == key && one.state == state;
      });
    });
  }
  bool hears_of(const model::SessionRef& ref, SessionState state) {
    return hears([&](const model::PoolReport& report) {
      return std::ranges::any_of(report.sessions, [&](const model::ReportedSession& one) {
        return one.session.ref == ref && one.state == state;
      });
    });
  }

 private:
  bool hears(const std::function<bool(const model::PoolReport&)>& fits) {
    return wait_for([&](const v1::FromAgent& message) {
             const auto report = codec::from_wire(message.report());
             return message.has_report() && report && report->pool && fits(*report->pool);
           })
        .has_value();
  }

  std::uint64_t last_ = 0;
};

TEST(Pools, DoNotWaitForTheStore) {
  FakeMachine machine;
  FakeStore store;
  PoolServer server;
  const RunningAgent agent(machine, store, &server);
  store.is_full = true;
  server.say(a_command(1, {a_spec("web")}));
  while (store.refused < 1) std::this_thread::yield();
  server.order(a_pool_instance({"x"}));
  EXPECT_TRUE(server.hears_of(kInstance, PoolInstanceState::Running));
  EXPECT_EQ(machine.starts(), std::vector<std::string>{"@games"});
  server.order(model::StopPoolInstance{kInstance, 0s});
  EXPECT_TRUE(server.hears_of(kInstance, PoolInstanceState::Gone));
  EXPECT_TRUE(machine.wait([&] { return !machine.forgotten().empty(); }));
}

// Real processes and sockets; only the control plane is ours.
class RealPools : public ::testing::TestWithParam<const char*> {
 protected:
  RealPools() {
    std::string pattern = (fs::temp_directory_path() / "agent-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
  }
  ~RealPools() override { fs::remove_all(directory_); }

  void SetUp() override {
    if (!fs::exists(kShim)) GTEST_SKIP() << kShim << " has not been built";
    if (GetParam() == std::string("python") && std::system("python3 -c 0 2>/dev/null") != 0) {
      GTEST_SKIP() << "there is no python3";
    }
    auto opened = store::SqliteStore::open(store_file(directory_));
    ASSERT_TRUE(opened) << opened.error().message;
    store_.emplace(*std::move(opened));
  }

  std::unique_ptr<RunningAgent> an_agent(FakeServer& server, bool stops_all = false) {
    const auto real = [this, stops_all](Config& config, Dependencies& dependencies) {
      config.state_dir = directory_;
      config.shim = kShim;
      config.image_dir = directory_ / "images";
      config.stop_grace = 100ms;
      config.stop_instances_on_exit = stops_all;
      config.tag = tag_;
      config.gateway = tag_.empty() ? GatewayKind::Forwarder : GatewayKind::Nftables;
      Dependencies made = real_dependencies(config, *store_, std::nullopt);
      dependencies.runtimes = made.runtimes;
      dependencies.pools = made.pools;
    };
    return std::make_unique<RunningAgent>(unused_, *store_, &server, real);
  }

  static model::StartPoolInstance an_echo() {
    const std::string script = BERTH_SOURCE_DIR "/examples/sessions/echo.py";
    auto start = a_pool_instance(GetParam() == std::string("python")
                                     ? std::vector<std::string>{"python3", script}
                                     : std::vector<std::string>{BERTH_BIN_DIR "/session-echo"});
    start.spec.item.env["PATH"] = std::getenv("PATH");
    start.spec.item.env["PYTHONDONTWRITEBYTECODE"] = "1";
    start.sessions.service = true;
    return start;
  }

  model::SessionSpec a_session() const {
    model::SessionSpec session;
    session.ref.key = {"games", "blue"};
    session.instance = kInstance;
    session.data = "welcome!";
    session.close_grace = 30s;
    for (const auto protocol : {model::Protocol::Tcp, model::Protocol::Udp}) {
      session.ports.push_back({{7000, protocol}, outside_.address, outside_.port, ""});
    }
    return session;
  }

  Stream connect() const {
    Stream client;
    becomes([&] { return (client = Stream::connect(outside_)).is_open(); });
    EXPECT_EQ(client.receive(8), "welcome!");
    client.send("ping");
    EXPECT_EQ(client.receive(4), "ping");
    return client;
  }

  bool has_files() const {
    return std::ranges::any_of(std::vector{"runs", "logs", "storage", "state", "sessions"},
                               [this](const char* place) {
                                 const fs::path path = directory_ / place;
                                 return fs::exists(path) && !fs::is_empty(path);
                               });
  }

  const fs::path kShim = fs::path(BERTH_BIN_DIR) / "berth-shim";
  const session::Endpoint outside_{"127.0.0.1", session::testing::free_port()};
  fs::path directory_;
  std::string tag_;  // has it: nftables forward
  FakeMachine unused_;
  std::optional<store::SqliteStore> store_;
};
INSTANTIATE_TEST_SUITE_P(Apps, RealPools, ::testing::Values("cpp", "python"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(RealPools, ASessionIsServedOverARestartOfTheAgentAndNothingStays) {
  const model::SessionSpec session = a_session();
  {
    PoolServer server;
    const auto agent = an_agent(server);
    server.order(an_echo());
    ASSERT_TRUE(server.hears_of(kInstance, PoolInstanceState::Running));
    server.order(model::OpenSession{session});
    ASSERT_TRUE(server.hears_of(session.ref, SessionState::Available));
    const Stream client = connect();
    EXPECT_TRUE(server.hears_of(session.ref, SessionState::InUse));
  }
  PoolServer server;
  const auto agent = an_agent(server, true);
  EXPECT_TRUE(server.hears_of(session.ref, SessionState::InUse));
  const Stream client = connect();
  server.order(model::CloseSession{session.ref, kInstance, 30s, {}});
  EXPECT_TRUE(server.hears_of(session.ref, SessionState::Closed));
  EXPECT_FALSE(Stream::connect(outside_).is_open());
  server.order(model::StopPoolInstance{kInstance, 100ms});
  EXPECT_TRUE(server.hears_of(kInstance, PoolInstanceState::Gone));
  EXPECT_TRUE(becomes([&] { return !has_files(); }));
}

TEST_P(RealPools, WhoIsConnectedByRulesOfTheKernelDoesNotNoticeARestartOfTheAgent) {
  if (::geteuid() != 0 || runtime::find_program("nft").empty())
    GTEST_SKIP() << "it needs root, nft";
  tag_ = fmt::format("{:08x}", ::getpid());
  const model::SessionSpec session = a_session();
  std::optional<Stream> client;
  {
    PoolServer server;
    const auto agent = an_agent(server);
    EXPECT_FALSE(Stream::connect(outside_).is_open()) << "nothing is there before";
    server.order(an_echo());
    ASSERT_TRUE(server.hears_of(kInstance, PoolInstanceState::Running));
    server.order(model::OpenSession{session});
    ASSERT_TRUE(server.hears_of(session.ref, SessionState::Available));
    client = connect();
    EXPECT_TRUE(server.hears_of(session.ref, SessionState::InUse));
  }
  const auto answers = [](const Stream& who) {
    return who.send("still") && who.receive(5) == "still";
  };
  EXPECT_TRUE(answers(*client)) << "nobody but the kernel is there";
  PoolServer server;
  const auto agent = an_agent(server, true);
  EXPECT_TRUE(server.hears_of(session.ref, SessionState::InUse));
  EXPECT_TRUE(answers(*client));
  const Stream other = connect();
  server.order(model::CloseSession{session.ref, kInstance, 30s, {}});
  EXPECT_TRUE(server.hears_of(session.ref, SessionState::Closed));
  EXPECT_FALSE(Stream::connect(outside_).is_open());
  client->send("?");
  EXPECT_TRUE(client->is_over());
}

TEST_P(RealPools, AnInstanceStandsStillAndGoesOn) {
  PoolServer server;
  const auto agent = an_agent(server, true);
  server.order(an_echo());
  ASSERT_TRUE(server.hears_of(kInstance, PoolInstanceState::Running));
  server.order(model::SetPoolPausing{kInstance, model::Pausing::Paused});
  EXPECT_TRUE(server.hears_of(kInstance, PoolInstanceState::Paused));
  server.order(model::SetPoolPausing{kInstance, model::Pausing::Running});
  const model::SessionSpec session = a_session();
  server.order(model::OpenSession{session});
  EXPECT_TRUE(server.hears_of(session.ref, SessionState::Available));
  connect();
}

}  // namespace
}  // namespace berth::agentd
