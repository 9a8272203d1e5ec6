#include "session/forwarder.h"

#include <sys/resource.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "session/conformance.h"

namespace berth::session {
namespace {

using testing::becomes;
using testing::Port;
using testing::Stream;

struct ForwarderHarness {
  ForwarderHarness() : ForwarderHarness(Forwarder::Config{}) {}
  explicit ForwarderHarness(Forwarder::Config config) {
    auto made = Forwarder::open(std::move(config), told_callbacks(all));
    EXPECT_TRUE(made);
    forwarder = *std::move(made);
  }

  Gateway& gateway() { return *forwarder; }
  testing::Told& told() { return all; }
  std::string outside() { return "127.0.0.1"; }
  std::string inside() { return "127.0.0.1"; }

  testing::Told all;
  std::unique_ptr<Forwarder> forwarder;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Forwarder, GatewayConformance, ForwarderHarness);

Forward a_tcp_forward(const Port& target, const std::string& id = "a") {
  return {.id = id, .listen = {"127.0.0.1", testing::free_port()}, .tcp = target.endpoint()};
}
Forward a_udp_forward(const Port& target) {
  return {.id = "a", .listen = {"127.0.0.1", testing::free_port()}, .udp = target.endpoint()};
}

TEST(Forwarder, OneConnectionTooManyIsTurnedAway) {
  ForwarderHarness harness({.connections_per_forward = 2});
  const Port target(SOCK_STREAM);
  const auto forward = a_tcp_forward(target);
  ASSERT_TRUE(harness.forwarder->open(forward));
  auto first = Stream::connect(forward.listen);
  auto server = target.accept();
  const auto second = Stream::connect(forward.listen);
  const auto other_server = target.accept();
  const auto third = Stream::connect(forward.listen);
  EXPECT_TRUE(third.is_over());
  first = Stream();
  server = Stream();
  EXPECT_TRUE(becomes([&] { return harness.forwarder->traffic("a")->open == 1; }));
  const auto fourth = Stream::connect(forward.listen);
  fourth.send("in");
  EXPECT_EQ(target.accept().receive(2), "in");
}

TEST(Forwarder, CountsTheBytesThatClientsSend) {
  ForwarderHarness harness;
  const Port target(SOCK_STREAM);
  const auto forward = a_tcp_forward(target);
  ASSERT_TRUE(harness.forwarder->open(forward));
  const auto client = Stream::connect(forward.listen);
  const auto server = target.accept();
  const std::string bytes(1 << 20, 'x');
  std::thread sender([&] { client.send(bytes); });
  EXPECT_EQ(server.receive(bytes.size()).size(), bytes.size());
  sender.join();
  EXPECT_EQ(harness.forwarder->traffic("a")->bytes_in, bytes.size());
}

TEST(Forwarder, AllForwardsTogetherHaveALimit) {
  ForwarderHarness harness({.connections_max = 1});
  const Port target(SOCK_STREAM);
  const auto one = a_tcp_forward(target, "one");
  const auto two = a_tcp_forward(target, "two");
  ASSERT_TRUE(harness.forwarder->open(one));
  ASSERT_TRUE(harness.forwarder->open(two));
  {
    const auto first = Stream::connect(one.listen);
    const auto server = target.accept();
    EXPECT_TRUE(Stream::connect(two.listen).is_over());
  }
  harness.forwarder->close("one");
  const auto again = Stream::connect(two.listen);
  again.send("in");
  EXPECT_EQ(target.accept().receive(2), "in");
}

TEST(Forwarder, AQuietFlowEnds) {
  ForwarderHarness harness({.flow_quiet_max = 20ms});
  const Port target(SOCK_DGRAM);
  const auto forward = a_udp_forward(target);
  ASSERT_TRUE(harness.forwarder->open(forward));
  const Port client(SOCK_DGRAM);
  client.send("1", forward.listen);
  EXPECT_EQ(target.receive().bytes, "1");
  EXPECT_TRUE(harness.all.has("a has 0"));
  client.send("2", forward.listen);
  EXPECT_EQ(target.receive().bytes, "2");
  EXPECT_EQ(harness.forwarder->traffic("a")->connections, 2u);
}

TEST(Forwarder, TheQuietestFlowGivesWay) {
  ForwarderHarness harness({.connections_per_forward = 2});
  const Port target(SOCK_DGRAM);
  const auto forward = a_udp_forward(target);
  ASSERT_TRUE(harness.forwarder->open(forward));
  const std::vector<Port> clients = [] {
    std::vector<Port> made;
    for (int i = 0; i < 3; ++i) made.emplace_back(SOCK_DGRAM);
    return made;
  }();
  std::vector<Port::Datagram> heard;
  for (const int i : {0, 1, 0, 2}) {
    clients[static_cast<std::size_t>(i)].send("x", forward.listen);
    heard.push_back(target.receive());
  }
  EXPECT_EQ(harness.forwarder->traffic("a")->open, 2u);
  target.send("still", heard[0].from);
  EXPECT_EQ(clients[0].receive().bytes, "still");
}

TEST(Forwarder, ATargetThatDoesNotAnswerIsGivenUp) {
  ForwarderHarness harness({.connect_timeout = 30ms});
  const Port target(SOCK_STREAM);
  ::listen(target.fd(), 0);
  const auto only = Stream::connect(target.endpoint());  // others are not heard
  const auto forward = a_tcp_forward(target);
  ASSERT_TRUE(harness.forwarder->open(forward));
  const auto client = Stream::connect(forward.listen);
  EXPECT_TRUE(client.is_over());
  EXPECT_TRUE(becomes([&] { return harness.forwarder->traffic("a")->open == 0; }));
}

TEST(Forwarder, TargetsInTheNetworkAreReachedByItsSockets) {
  std::atomic<int> made = 0;
  ForwarderHarness harness({.network_socket = [&made](int family, int type) {
    ++made;
    return ::socket(family, type, 0);
  }});
  const Port target(SOCK_STREAM);
  auto forward = a_tcp_forward(target);
  forward.reach = Reach::Network;
  ASSERT_TRUE(harness.forwarder->open(forward));
  const auto client = Stream::connect(forward.listen);
  client.send("in");
  EXPECT_EQ(target.accept().receive(2), "in");
  EXPECT_EQ(made, 1);
}

TEST(Forwarder, AReaderThatStandsStillCostsLittleAndHoldsUpNobody) {
  ForwarderHarness harness;
  const Port target(SOCK_STREAM);
  const auto forward = a_tcp_forward(target);
  ASSERT_TRUE(harness.forwarder->open(forward));
  const auto stuck = Stream::connect(forward.listen);
  const auto server = target.accept();
  const std::string chunk(1 << 20, 'x');
  const timeval soon{0, 50'000};
  ::setsockopt(server.fd(), SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
  while (server.send(chunk)) {
  }
  const auto other = Stream::connect(forward.listen);
  other.send("in");
  EXPECT_EQ(target.accept().receive(2), "in");
}

TEST(Forwarder, WithoutDescriptorsItWaitsAndGoesOn) {
  ForwarderHarness harness;
  const Port target(SOCK_STREAM);
  const auto forward = a_tcp_forward(target);
  ASSERT_TRUE(harness.forwarder->open(forward));
  const auto another = a_tcp_forward(target, "another");
  Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(client.get());  // whatever is open stays so
  ::setrlimit(RLIMIT_NOFILE, &none);
  const auto to = SocketAddress::of(forward.listen);
  ASSERT_EQ(::connect(client.get(), to->get(), to->size()), 0);
  EXPECT_EQ(harness.forwarder->open(another).error().code, Code::Exhausted);
  ::setrlimit(RLIMIT_NOFILE, &before);
  const Stream stream(std::move(client));
  stream.send("in");
  EXPECT_EQ(target.accept().receive(2), "in");
}

TEST(Forwarder, ManyForwardsOnOneThread) {
  constexpr int kMany = 2'000;
  ForwarderHarness harness;
  const Port target(SOCK_STREAM);
  std::vector<Forward> forwards;
  for (int i = 0; i < kMany; ++i) {
    forwards.push_back(a_tcp_forward(target, std::to_string(i)));
    const auto opened = harness.forwarder->open(forwards.back());
    ASSERT_TRUE(opened) << opened.error().message;
  }
  for (const Forward& forward : forwards) {
    const auto client = Stream::connect(forward.listen);
    client.send("in");
    EXPECT_EQ(target.accept().receive(2), "in");
  }
  for (const Forward& forward : forwards) harness.forwarder->close(forward.id);
  EXPECT_FALSE(Stream::connect(forwards.back().listen).is_open());
}

TEST(Forwarder, OpenAndCloseWhileBytesFlow) {
  ForwarderHarness harness;
  const Port target(SOCK_STREAM);
  const auto busy = a_tcp_forward(target, "busy");
  ASSERT_TRUE(harness.forwarder->open(busy));
  const auto client = Stream::connect(busy.listen);
  const auto server = target.accept();
  std::thread sender([&] {
    const std::string chunk(1 << 16, 'x');
    while (client.send(chunk)) {
    }
  });
  std::thread reader([&] {
    while (!server.receive(1 << 16).empty()) {
    }
  });
  for (int i = 0; i < 200; ++i) {
    const auto forward = a_tcp_forward(target, std::to_string(i));
    ASSERT_TRUE(harness.forwarder->open(forward));
    harness.forwarder->close(forward.id);
  }
  harness.forwarder->close("busy");
  sender.join();
  reader.join();
}

TEST(Forwarder, SpeaksVersion6) {
  ForwarderHarness harness;
  const Port target(SOCK_STREAM);
  Forward forward = a_tcp_forward(target);
  forward.listen.address = "::1";
  if (!harness.forwarder->open(forward)) GTEST_SKIP() << "this machine has no IPv6";
  const auto client = Stream::connect(forward.listen);
  client.send("in");
  EXPECT_EQ(target.accept().receive(2), "in");
}

TEST(Forwarder, SpeaksVersion6WithDatagrams) {
  ForwarderHarness harness;
  const Port target(SOCK_DGRAM);
  auto forward = a_udp_forward(target);
  forward.listen.address = "::";
  if (!harness.forwarder->open(forward)) GTEST_SKIP() << "this machine has no IPv6";
  const auto to = SocketAddress::of({"::1", forward.listen.port});
  const Stream client(Fd(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
  ASSERT_EQ(::connect(client.fd(), to->get(), to->size()), 0);
  client.send("who?");
  target.send("me", target.receive().from);
  EXPECT_EQ(client.receive(2), "me");
}

TEST(Forwarder, AnAnswerComesFromTheAddressThatWasAsked) {
  ForwarderHarness harness;
  const Port target(SOCK_DGRAM);
  auto forward = a_udp_forward(target);
  forward.listen.address = "0.0.0.0";
  ASSERT_TRUE(harness.forwarder->open(forward));
  const Port client(SOCK_DGRAM);
  for (const char* address : {"127.0.0.2", "127.0.0.3"}) {
    const Endpoint asked{address, forward.listen.port};
    client.send("who?", asked);
    target.send("me", target.receive().from);
    EXPECT_EQ(client.receive().from, *SocketAddress::of(asked));
  }
}

TEST(Endpoint, IsReadAndWritten) {
  for (const char* text : {"10.1.2.3:7000", "[fd00::7]:65535"}) {
    ASSERT_TRUE(parse_endpoint(text)) << text;
    EXPECT_EQ(to_string(*parse_endpoint(text)), text);
  }
  for (const char* text : {"", "10.1.2.3", "10.1.2.3:", ":7", "10.1.2.3:65536", "fd00::7:1",
                           "[10.1.2.3]:7", "name:7", "10.1.2.3:7 ", "[]:7"}) {
    EXPECT_FALSE(parse_endpoint(text)) << text;
  }
}

}  // namespace
}  // namespace berth::session
