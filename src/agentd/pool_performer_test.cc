#include "agentd/pool_performer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <optional>

#include "model/application.h"
#include "session/protocol.h"
#include "session/testing/peers.h"

namespace berth::agentd {
namespace {

namespace fs = std::filesystem;
using session::testing::Port;
using session::testing::Stream;

model::InstanceKey echo_instance(std::uint32_t number) {
  return model::pool_instance({"games", "echo"}, number);
}
const model::InstanceKey kEcho = echo_instance(1);
const model::SessionRef kBlue{{"games", "blue"}, 1};

// All facts that were told, to be waited for.
class Facts {
 public:
  Tell tell() {
    return [this](agent::Event event) {
      const std::lock_guard lock(mutex_);
      all_.push_back(std::move(event));
      changed_.notify_all();
    };
  }

  // The next one of this kind.
  template <class Fact>
  std::optional<Fact> take() {
    std::unique_lock lock(mutex_);
    std::optional<Fact> found;
    changed_.wait_for(lock, std::chrono::seconds(60), [&] {
      const auto at = std::ranges::find_if(
          all_, [](const agent::Event& event) { return std::holds_alternative<Fact>(event); });
      if (at == all_.end()) return false;
      found = std::get<Fact>(*at);
      all_.erase(at);
      return true;
    });
    return found;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<agent::Event> all_;
};

class PoolPerformerTest : public ::testing::Test {
 protected:
  PoolPerformerTest() {
    std::string pattern = (fs::temp_directory_path() / "pool-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    start();
  }
  ~PoolPerformerTest() override {
    performer_.reset();
    fs::remove_all(directory_);
  }

  // As another life of the agent.
  void start(std::vector<model::InstanceKey> runs = {}) {
    performer_.reset();
    auto made = PoolPerformer::open(
        {.sockets = directory_ / "sessions",
         .runs = [runs] { return runs; },
         .keep_note = [this](const agent::KeepNote& keep) { last_kept_ = keep.note.edition; }},
        facts_.tell());
    ASSERT_TRUE(made) << made.error().message;
    performer_ = *std::move(made);
  }

  agent::Furnished furnish(const agent::Furnish& what) {
    performer_->perform(what);
    return facts_.take<agent::Furnished>().value_or(agent::Furnished{});
  }
  agent::Furnished furnish_with_service() { return furnish({kEcho, {{7000}}, true}); }

  std::string open(const std::vector<model::SessionPort>& ports) {
    performer_->perform(agent::OpenEndpoints{kBlue, kEcho, ports});
    const auto opened = facts_.take<agent::EndpointsOpened>();
    return opened ? opened->problem : "no answer";
  }
  void close() {
    performer_->perform(agent::CloseEndpoints{kBlue, kEcho});
    EXPECT_TRUE(facts_.take<agent::EndpointsClosed>());
  }

  static model::SessionPort a_port(const Port& target, model::Protocol protocol) {
    return {{7000, protocol},
            "127.0.0.1",
            session::testing::free_port(),
            session::to_string(target.endpoint())};
  }

  // An app that has said hello.
  Stream an_app(const std::string& socket, const std::string& token) {
    Stream app = Stream::connect_unix(socket);
    EXPECT_TRUE(app.is_open());
    app.send(R"({"type":"hello","token":")" + token + "\"}\n");
    EXPECT_THAT(app.receive_line(), ::testing::HasSubstr("welcome"));
    EXPECT_TRUE(facts_.take<agent::AppConnected>());
    return app;
  }

  fs::path directory_;
  Facts facts_;
  std::atomic<std::uint64_t> last_kept_ = 0;
  std::unique_ptr<PoolPerformer> performer_;
};

TEST_F(PoolPerformerTest, PortsOfTheMachineAreNotGivenTwice) {
  const std::vector<model::Port> both{{7000, model::Protocol::Tcp}, {7000, model::Protocol::Udp}};
  std::set<std::string> given;
  for (std::uint32_t i = 0; i < 50; ++i) {
    const auto furnished = furnish({echo_instance(i), both});
    ASSERT_EQ(furnished.problem, "");
    ASSERT_EQ(furnished.ports.size(), 2u);
    EXPECT_EQ(furnished.ports[0].port, both[0]);
    EXPECT_EQ(furnished.ports[0].internal, furnished.ports[1].internal) << "by one variable";
    EXPECT_TRUE(given.insert(furnished.ports[0].internal).second);
    EXPECT_EQ(furnished.socket, "");
  }
  for (const std::string& internal : given) {
    const std::uint16_t port = session::parse_endpoint(internal)->port;
    EXPECT_TRUE(Port(SOCK_STREAM, port, "0.0.0.0").is_open());
    EXPECT_TRUE(Port(SOCK_DGRAM, port, "0.0.0.0").is_open());
  }
}

TEST_F(PoolPerformerTest, AnInstanceOnANetworkListensAsItLikes) {
  const auto furnished = furnish({kEcho, {{7000}}, false, model::Ipv4{0x0A000007}});
  ASSERT_EQ(furnished.ports.size(), 1u);
  EXPECT_EQ(furnished.ports[0].internal, "10.0.0.7:7000");
}

TEST_F(PoolPerformerTest, TheSessionServiceIsThereBeforeTheInstanceIs) {
  const auto furnished = furnish_with_service();
  ASSERT_EQ(furnished.problem, "");
  auto app = an_app(furnished.socket, furnished.token);
  performer_->perform(agent::OpenInApp{kEcho, "blue", "data"});
  EXPECT_EQ(app.receive_line() + "\n", session::open_line("blue", "data"));
  app.send("{\"type\":\"opened\",\"session\":\"blue\"}\n");
  EXPECT_EQ(facts_.take<agent::AppOpened>()->session, "blue");
  app.send("{\"type\":\"clients\",\"session\":\"blue\",\"count\":2}\n");
  EXPECT_EQ(facts_.take<agent::AppCounted>()->clients, 2u);
  app.send("{\"type\":\"ping\"}\n");
  EXPECT_TRUE(facts_.take<agent::AppPinged>());
  EXPECT_THAT(app.receive_line(), ::testing::HasSubstr("pong"));
  performer_->perform(agent::CloseInApp{kEcho, "blue", 5s});
  EXPECT_THAT(app.receive_line(), ::testing::HasSubstr("close"));
  app.send("{\"type\":\"closed\",\"session\":\"blue\"}\n");
  EXPECT_EQ(facts_.take<agent::AppClosed>()->session, "blue");
}

TEST_F(PoolPerformerTest, NothingStaysOfAnInstanceThatIsOver) {
  const auto furnished = furnish_with_service();
  EXPECT_TRUE(fs::exists(furnished.socket));
  performer_->perform(agent::Unfurnish{kEcho});
  EXPECT_TRUE(fs::is_empty(directory_ / "sessions"));
}

TEST_F(PoolPerformerTest, APathThatIsTooLongIsSaid) {
  const std::string long_name(120, 'x');
  auto made = PoolPerformer::open({.sockets = directory_ / long_name}, facts_.tell());
  ASSERT_TRUE(made);
  performer_ = *std::move(made);
  EXPECT_THAT(furnish_with_service().problem, ::testing::HasSubstr(long_name));
}

TEST_F(PoolPerformerTest, AnAppFindsTheNextLifeAtTheSameSocket) {
  const auto furnished = furnish_with_service();
  furnish({echo_instance(2), {}, true});
  start({kEcho});
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_ / "sessions"), {}), 1)
      << "what an instance has left that is no more is removed";
  performer_->perform(agent::ServeApp{kEcho, furnished.token, furnished.ports});
  an_app(furnished.socket, furnished.token);
}

TEST_F(PoolPerformerTest, EndpointsLeadToTheInstance) {
  const Port tcp(SOCK_STREAM);
  const Port udp(SOCK_DGRAM);
  auto ports = std::vector{a_port(tcp, model::Protocol::Tcp), a_port(udp, model::Protocol::Udp)};
  ports[1].external = ports[0].external;
  ASSERT_EQ(open(ports), "");
  const auto client = Stream::connect({"127.0.0.1", ports[0].external});
  const auto server = tcp.accept();
  client.send("hello");
  EXPECT_EQ(server.receive(5), "hello");
  const auto used = facts_.take<agent::EndpointUsed>();
  ASSERT_TRUE(used);
  EXPECT_EQ(used->ref, kBlue);
  EXPECT_EQ(used->instance, kEcho);
  const Port sender(SOCK_DGRAM);
  sender.send("datagram", session::Endpoint{"127.0.0.1", ports[0].external});
  EXPECT_EQ(udp.receive().bytes, "datagram");

  performer_->perform(agent::RefuseNew{kBlue});
  EXPECT_FALSE(Stream::connect({"127.0.0.1", ports[0].external}).is_open());
  client.send("still");
  EXPECT_EQ(server.receive(5), "still");
  close();
  EXPECT_TRUE(Port(SOCK_STREAM, ports[0].external).is_open()) << "the port is free";
}

TEST_F(PoolPerformerTest, AllEndpointsOrNone) {
  const Port target(SOCK_STREAM);
  const auto good = a_port(target, model::Protocol::Tcp);
  auto taken = good;
  const Port other(SOCK_STREAM);
  taken.external = other.endpoint().port;
  EXPECT_THAT(open({good, taken}), ::testing::HasSubstr("is taken"));
  EXPECT_FALSE(Stream::connect({"127.0.0.1", good.external}).is_open());
  EXPECT_EQ(open({good}), "");
  close();
  close();
}

TEST_F(PoolPerformerTest, TheLastNoteIsKeptAlsoWhenTheAgentEnds) {
  for (std::uint64_t edition = 1; edition <= 100; ++edition) {
    performer_->perform(agent::KeepNote{kEcho, model::RuntimeId("process"), {}, {edition}});
  }
  performer_->stop();
  EXPECT_EQ(last_kept_, 100u);
}

}  // namespace
}  // namespace berth::agentd
