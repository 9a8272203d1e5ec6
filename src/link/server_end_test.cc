#include "link/server_end.h"

#include <fmt/format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <future>

#include "berth/v1/agent.grpc.pb.h"
#include "link/testing/unit.h"

namespace berth::link {
namespace {

using namespace std::chrono_literals;
using namespace testing;
using grpc::StatusCode;
using trust::Role;

// A client that does only what it is told to.
class Client {
 public:
  explicit Client(std::shared_ptr<grpc::Channel> channel)
      : stub_(v1::AgentLink::NewStub(std::move(channel))) {
    context_.set_deadline(std::chrono::system_clock::now() + 60s);
    stream_ = stub_->Connect(&context_);
  }
  ~Client() {
    if (stream_ == nullptr) return;
    context_.TryCancel();
    static_cast<void>(finish());
  }

  Client& say(const v1::FromAgent& message) {
    stream_->Write(message);
    return *this;
  }

  // The number of the next command.
  std::uint64_t hear() {
    v1::ToAgent message;
    EXPECT_TRUE(stream_->Read(&message));
    return message.command().number().number();
  }

  grpc::Status finish() {
    v1::ToAgent message;
    while (stream_->Read(&message)) continue;
    const grpc::Status status = stream_->Finish();
    stream_.reset();
    return status;
  }

 private:
  std::unique_ptr<v1::AgentLink::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::FromAgent, v1::ToAgent>> stream_;
};

class ServerEndTest : public ::testing::Test {
 protected:
  std::shared_ptr<grpc::Channel> channel(const LinkServer& server, Role role,
                                         const std::string& name) {
    return channel_to(server.address(), unit_.authority(), unit_.identity(role, name));
  }

  Unit unit_;
};

TEST_F(ServerEndTest, TellsAndTalksBothWays) {
  LinkServer server(unit_);
  {
    Client client(channel(server, Role::Node, "n1"));
    client.say(a_hello("n1"));
    ASSERT_TRUE(server.log().wait_for("connected n1"));
    server.end().send(server.last_connection(), a_command(7));
    EXPECT_EQ(client.hear(), 7U);
    client.say(a_report(1)).say(a_report(2));
    ASSERT_TRUE(server.log().wait_for("n1 reported 2"));
  }
  ASSERT_TRUE(server.log().wait_for("disconnected n1"));
  EXPECT_EQ(server.log().lines(), (std::vector<std::string>{"connected n1", "n1 reported 1",
                                                            "n1 reported 2", "disconnected n1"}));
  server.end().send(server.last_connection(), a_command(8));
}

TEST_F(ServerEndTest, NobodyWithoutACertificateIsHeard) {
  LinkServer server(unit_);
  Client client(channel_to(server.address(), unit_.authority(), {}));
  client.say(a_hello("n1"));
  EXPECT_EQ(client.finish().error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(server.log().lines().empty());
}

TEST_F(ServerEndTest, NobodyIsAuthenticatedWithoutTls) {
  LinkServer server(unit_, {.is_secure = false});
  Client client(grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials()));
  client.say(a_hello("n1"));
  EXPECT_EQ(client.finish().error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(server.log().lines().empty());
}

TEST_F(ServerEndTest, ACertificateOfAnotherAuthorityIsRefused) {
  LinkServer server(unit_);
  const Unit other;
  Client client(channel_to(server.address(), unit_.authority(), other.identity(Role::Node, "n1")));
  client.say(a_hello("n1"));
  EXPECT_EQ(client.finish().error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(server.log().lines().empty());
}

TEST_F(ServerEndTest, OnlyNodesAreLetIn) {
  LinkServer server(unit_);
  for (const Role role : {Role::Viewer, Role::Admin}) {
    Client client(channel(server, role, "n1"));
    client.say(a_hello("n1"));
    EXPECT_EQ(client.finish().error_code(), StatusCode::PERMISSION_DENIED);
  }
  EXPECT_TRUE(server.log().lines().empty());
}

TEST_F(ServerEndTest, ANodeSpeaksForItselfOnly) {
  LinkServer server(unit_);
  Client client(channel(server, Role::Node, "n1"));
  client.say(a_hello("n2"));
  EXPECT_EQ(client.finish().error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(server.log().lines().empty());
}

TEST_F(ServerEndTest, HelloComesFirstAndOnce) {
  LinkServer server(unit_);
  Client hasty(channel(server, Role::Node, "n1"));
  hasty.say(a_report(1));
  EXPECT_EQ(hasty.finish().error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(server.log().lines().empty());
  Client polite(channel(server, Role::Node, "n1"));
  polite.say(a_hello("n1")).say(a_hello("n1"));
  EXPECT_EQ(polite.finish().error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(server.log().wait_for("disconnected n1"));
}

TEST_F(ServerEndTest, WhoSaysNoHelloIsNotWaitedFor) {
  LinkServer server(unit_, {.config = {.hello_timeout = 100ms}});
  Client client(channel(server, Role::Node, "n1"));
  EXPECT_EQ(client.finish().error_code(), StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(ServerEndTest, ANewerConnectionReplacesTheOlder) {
  LinkServer server(unit_);
  Client older(channel(server, Role::Node, "n1"));
  older.say(a_hello("n1"));
  ASSERT_TRUE(server.log().wait_for("connected n1"));
  const std::uint64_t first = server.last_connection();
  Client newer(channel(server, Role::Node, "n1"));
  newer.say(a_hello("n1"));
  ASSERT_TRUE(server.log().wait_for("connected n1", 2));
  EXPECT_EQ(server.log().lines(),
            (std::vector<std::string>{"connected n1", "disconnected n1", "connected n1"}));
  EXPECT_EQ(older.finish().error_code(), StatusCode::ABORTED);
  server.end().send(first, a_command(1));
  server.end().send(server.last_connection(), a_command(2));
  EXPECT_EQ(newer.hear(), 2U);
}

TEST_F(ServerEndTest, WhoDoesNotReadIsCutOff) {
  LinkServer server(unit_, {.config = {.queue_messages_max = 8}});
  Client client(channel(server, Role::Node, "n1"));
  client.say(a_hello("n1"));
  ASSERT_TRUE(server.log().wait_for("connected n1"));
  for (std::uint64_t i = 0; i < 200 && server.log().count("disconnected n1") == 0; ++i) {
    server.end().send(server.last_connection(), a_command(i, 1 << 20));
  }
  EXPECT_TRUE(server.log().wait_for("disconnected n1"));
}

TEST_F(ServerEndTest, AQueueIsBoundedInBytesToo) {
  LinkServer server(unit_, {.config = {.queue_bytes_max = 1000}});
  Client client(channel(server, Role::Node, "n1"));
  client.say(a_hello("n1"));
  ASSERT_TRUE(server.log().wait_for("connected n1"));
  server.end().send(server.last_connection(), a_command(1, 2000));
  EXPECT_EQ(client.finish().error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(server.log().wait_for("disconnected n1"));
}

TEST_F(ServerEndTest, AStreamEndsWhenNobodyCanTakeItsMessages) {
  LinkServer server(unit_, {.takes_messages = false});
  Client client(channel(server, Role::Node, "n1"));
  client.say(a_hello("n1")).say(a_report(1));
  EXPECT_EQ(client.finish().error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(server.log().wait_for("disconnected n1"));
}

TEST_F(ServerEndTest, DisconnectsWhomItIsTold) {
  LinkServer server(unit_);
  Client client(channel(server, Role::Node, "n1"));
  client.say(a_hello("n1"));
  ASSERT_TRUE(server.log().wait_for("connected n1"));
  server.end().disconnect(server.last_connection(), "forgotten");
  const grpc::Status status = client.finish();
  EXPECT_EQ(status.error_code(), StatusCode::ABORTED);
  EXPECT_EQ(status.error_message(), "forgotten");
  EXPECT_TRUE(server.log().wait_for("disconnected n1"));
}

TEST_F(ServerEndTest, ClosingEndsAllAndRefusesNewOnes) {
  LinkServer server(unit_);
  Client client(channel(server, Role::Node, "n1"));
  client.say(a_hello("n1"));
  ASSERT_TRUE(server.log().wait_for("connected n1"));
  server.end().close();
  EXPECT_EQ(client.finish().error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(server.log().wait_for("disconnected n1"));
  Client late(channel(server, Role::Node, "n2"));
  late.say(a_hello("n2"));
  const grpc::Status status = late.finish();
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "shutting down");
}

// A gibibyte of the same mebibyte, so that the test need not have it either.
grpc::ByteBuffer a_gibibyte() {
  static const std::string block(1 << 20, 'x');
  const std::vector<grpc::Slice> slices(
      1024, grpc::Slice(block.data(), block.size(), grpc::Slice::STATIC_SLICE));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

TEST_F(ServerEndTest, AGibibyteIsRefusedAndTheServerGoesOn) {
  LinkServer server(unit_);
  grpc::GenericStub stub(channel(server, Role::Node, "n1"));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    return ok;
  };
  const auto call = stub.PrepareCall(&context, "/berth.v1.AgentLink/Connect", &queue);
  call->StartCall(nullptr);
  ASSERT_TRUE(next());
  call->Write(a_gibibyte(), nullptr);
  static_cast<void>(next());  // it may have been handed on, or not
  grpc::Status status;
  call->Finish(&status, nullptr);
  static_cast<void>(next());
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(server.log().lines().empty());
  LinkAgent agent(unit_, server.address(), "n2");
  EXPECT_TRUE(agent.log().wait_for("connected"));
}

// --- The gate.

// Somebody who connects and says what it is told to, or nothing.
class Stranger {
 public:
  explicit Stranger(const LinkServer& server) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server.port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval deadline{60, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Stranger() { ::close(socket_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  void say(std::string_view what) {
    EXPECT_EQ(::send(socket_, what.data(), what.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(what.size()));
  }

  // Whether the server ends the connection, before a generous deadline.
  bool is_turned_out() {
    char byte = 0;
    ssize_t count = 0;
    do count = ::recv(socket_, &byte, 1, 0);
    while (count > 0);
    return count == 0 || errno == ECONNRESET;
  }

 private:
  const int socket_;
};

// The beginning of a message of TLS that never ends.
constexpr std::string_view kStalled("\x16\x03\x01\x02\x00", 5);

TEST_F(ServerEndTest, StrangersWhoSayNothingMakeRoomForTheNext) {
  LinkServer server(unit_, {.gate = {.host = "127.0.0.1",
                                     .guests = {.strangers = 4, .strangers_of_address = 4}}});
  std::vector<std::unique_ptr<Stranger>> strangers;
  for (int i = 0; i < 20; ++i) strangers.push_back(std::make_unique<Stranger>(server));
  for (int i = 0; i < 15; ++i) EXPECT_TRUE(strangers[static_cast<std::size_t>(i)]->is_turned_out());
  LinkAgent agent(unit_, server.address());
  EXPECT_TRUE(agent.log().wait_for("connected"));
  strangers.clear();
  LinkAgent another(unit_, server.address(), "n2");
  EXPECT_TRUE(another.log().wait_for("connected"));
  EXPECT_EQ(agent.log().count("disconnected"), 0U);
}

TEST_F(ServerEndTest, WhoSaysNothingOrDoesNotEndItsHandshakeIsNotWaitedFor) {
  LinkServer server(unit_, {.gate = {.host = "127.0.0.1", .patience = 200ms}});
  Stranger silent(server);
  Stranger slow(server);
  slow.say(kStalled);
  EXPECT_TRUE(silent.is_turned_out());
  EXPECT_TRUE(slow.is_turned_out());
}

TEST_F(ServerEndTest, AHandshakeThatStallsHoldsUpOthersOnlyForAMoment) {
  LinkServer server(unit_, {.gate = {.host = "127.0.0.1",
                                     .guests = {.engaged = 1, .engaged_of_address = 1},
                                     .patience = 60s,
                                     .hurry = 100ms}});
  Stranger slow(server);
  slow.say(kStalled);
  LinkAgent agent(unit_, server.address());
  EXPECT_TRUE(slow.is_turned_out());
  EXPECT_TRUE(agent.log().wait_for("connected"));
}

TEST_F(ServerEndTest, OneNameHasSoManyConnections) {
  LinkServer server(unit_, {.gate = {.host = "127.0.0.1", .guests = {.known_of_name = 1}}});
  Client first(channel(server, Role::Node, "n1"));
  first.say(a_hello("n1"));
  ASSERT_TRUE(server.log().wait_for("connected n1"));
  Client second(channel(server, Role::Node, "n1"));
  EXPECT_EQ(second.finish().error_code(), StatusCode::UNAVAILABLE);
  Client other(channel(server, Role::Node, "n2"));
  other.say(a_hello("n2"));
  EXPECT_TRUE(server.log().wait_for("connected n2"));
}

TEST_F(ServerEndTest, RoomIsFreeAgainWhenConnectionsHaveEnded) {
  LinkServer server(unit_, {.gate = {.host = "127.0.0.1", .guests = {.known = 1}}});
  for (const char* node : {"n1", "n2", "n3"}) {
    LinkAgent agent(unit_, server.address(), node);
    EXPECT_TRUE(agent.log().wait_for("connected")) << node;
  }
}

TEST_F(ServerEndTest, TheGateSaysWhetherAnybodyCanComeIn) {
  LinkServer server(unit_);
  const auto health = [&server] {
    std::promise<std::string> said;
    server.gate().ask([&said](const std::optional<Error>& trouble) {
      said.set_value(trouble ? trouble->message : "ok");
    });
    return said.get_future().get();
  };
  EXPECT_EQ(health(), "ok");
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit none{3, limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  EXPECT_EQ(health(), "Too many open files");
  setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_EQ(health(), "ok");
  LinkAgent agent(unit_, server.address());
  EXPECT_TRUE(agent.log().wait_for("connected"));
  server.gate().close();
  EXPECT_EQ(health(), "not open");
}

long count_threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST_F(ServerEndTest, IdleConnectionsNeedNoThreadEach) {
  constexpr std::size_t kAgents = 200;
  LinkServer server(unit_);
  const long before = count_threads();
  std::vector<std::unique_ptr<LinkAgent>> agents;
  for (std::size_t i = 0; i < kAgents; ++i) {
    agents.push_back(std::make_unique<LinkAgent>(unit_, server.address(), fmt::format("n{}", i)));
  }
  for (const auto& agent : agents) ASSERT_TRUE(agent->log().wait_for("connected"));
  EXPECT_LT(count_threads() - before, 50);
  for (std::size_t i = 0; i < kAgents; ++i) {
    EXPECT_TRUE(server.log().wait_for(fmt::format("connected n{}", i)));
  }
}

}  // namespace
}  // namespace berth::link
