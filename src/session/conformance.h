#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>

#include "session/gateway.h"
#include "session/testing/peers.h"

// What every Gateway promises, as tests. Included by tests only. An implementation instantiates the
// suite with a harness:
//
//   struct MyHarness {
//     Gateway& gateway();      // whose callbacks are told_callbacks(told())
//     testing::Told& told();
//     std::string outside();   // the address where the gateway listens
//     std::string inside();    // an address where targets are, that it reaches as Reach::Machine
//     static std::string why_not();  // optional: why it cannot be tested here; "": it can
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(My, GatewayConformance, MyHarness);
namespace berth::session {

inline GatewayCallbacks told_callbacks(testing::Told& told) {
  return {.used = [&told](const std::string& id) { told.add("used " + id); },
          .connections =
              [&told](const std::string& id, std::uint32_t open) {
                told.add(id + " has " + std::to_string(open));
              }};
}

template <class Harness>
class GatewayConformance : public ::testing::Test {
 protected:
  using Stream = testing::Stream;
  using Port = testing::Port;

  void SetUp() override {
    if constexpr (requires { Harness::why_not(); }) {
      if (const std::string why = Harness::why_not(); !why.empty()) GTEST_SKIP() << why;
    }
  }

  Gateway& gateway() { return harness_.gateway(); }
  testing::Told& told() { return harness_.told(); }

  Endpoint outside(std::uint16_t port) { return {harness_.outside(), port}; }
  testing::Port inside(int type) { return testing::Port(type, 0, harness_.inside()); }

  Forward tcp_forward(const std::string& id, const Port& target) {
    return {.id = id, .listen = outside(testing::free_port()), .tcp = target.endpoint()};
  }
  Forward udp_forward(const std::string& id, const Port& target) {
    return {.id = id, .listen = outside(testing::free_port()), .udp = target.endpoint()};
  }

  void open(const Forward& forward) {
    const auto done = gateway().open(forward);
    ASSERT_TRUE(done) << done.error().message;
  }
  Code refusal(const Forward& forward) {
    const auto done = gateway().open(forward);
    EXPECT_FALSE(done);
    return done ? Code::Internal : done.error().code;
  }

  // A client and the target, connected with each other.
  struct Pair {
    testing::Stream client;
    testing::Stream target;
  };
  Pair connect(const Forward& forward, const Port& target) {
    Pair pair;
    pair.client = testing::Stream::connect(forward.listen);
    EXPECT_TRUE(pair.client.is_open());
    pair.target = target.accept();
    return pair;
  }

  // It may take a byte on its way to learn it.
  bool is_cut(const Stream& stream) {
    stream.send("?");
    return stream.is_over();
  }

 private:
  Harness harness_;
};

TYPED_TEST_SUITE_P(GatewayConformance);

TYPED_TEST_P(GatewayConformance, ForwardsTcpBothWays) {
  const auto target = this->inside(SOCK_STREAM);
  const auto forward = this->tcp_forward("a", target);
  this->open(forward);
  const auto [client, server] = this->connect(forward, target);
  client.send("ping");
  EXPECT_EQ(server.receive(4), "ping");
  server.send("pong!");
  EXPECT_EQ(client.receive(5), "pong!");
}

TYPED_TEST_P(GatewayConformance, ForwardsTheEndOfOneDirection) {
  const auto target = this->inside(SOCK_STREAM);
  const auto forward = this->tcp_forward("a", target);
  this->open(forward);
  const auto [client, server] = this->connect(forward, target);
  client.send("question");
  client.end_sending();
  EXPECT_EQ(server.receive(100), "question");
  server.send("answer");
  server.end_sending();
  EXPECT_EQ(client.receive(100), "answer");
}

TYPED_TEST_P(GatewayConformance, ForwardsMegabytesToASlowReader) {
  const auto target = this->inside(SOCK_STREAM);
  const auto forward = this->tcp_forward("a", target);
  this->open(forward);
  auto [client, server] = this->connect(forward, target);
  std::string bytes(16 << 20, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 >> 7);
  std::thread sender([&client = client, &bytes] {
    client.send(bytes);
    client.end_sending();
  });
  EXPECT_TRUE(server.receive(bytes.size() + 1) == bytes);
  sender.join();
  EXPECT_GE(this->gateway().traffic("a")->bytes_in, bytes.size());
}

TYPED_TEST_P(GatewayConformance, ForwardsUdpAndAnswersOfEachClient) {
  const auto target = this->inside(SOCK_DGRAM);
  const auto forward = this->udp_forward("a", target);
  this->open(forward);
  const testing::Port one(SOCK_DGRAM, 0, forward.listen.address);
  const testing::Port two(SOCK_DGRAM, 0, forward.listen.address);
  one.send("one", forward.listen);
  const auto from_one = target.receive();
  EXPECT_EQ(from_one.bytes, "one");
  two.send("two", forward.listen);
  const auto from_two = target.receive();
  EXPECT_EQ(from_two.bytes, "two");
  target.send("to two", from_two.from);
  target.send("to one", from_one.from);
  EXPECT_EQ(one.receive().bytes, "to one");
  const auto answer = two.receive();
  EXPECT_EQ(answer.bytes, "to two");
  EXPECT_EQ(answer.from, *SocketAddress::of(forward.listen)) << "it comes from where it was sent";
}

TYPED_TEST_P(GatewayConformance, AClientOfUdpStaysTheSame) {
  const auto target = this->inside(SOCK_DGRAM);
  const auto forward = this->udp_forward("a", target);
  this->open(forward);
  const testing::Port client(SOCK_DGRAM, 0, forward.listen.address);
  client.send("1", forward.listen);
  const auto first = target.receive();
  client.send("", forward.listen);
  const auto second = target.receive();
  EXPECT_EQ(first.from, second.from);
  EXPECT_EQ(second.bytes, "");
  EXPECT_EQ(this->gateway().traffic("a")->connections, 1u);
}

TYPED_TEST_P(GatewayConformance, TcpAndUdpShareANumber) {
  const auto tcp = this->inside(SOCK_STREAM);
  const auto udp = this->inside(SOCK_DGRAM);
  auto forward = this->tcp_forward("a", tcp);
  forward.udp = udp.endpoint();
  this->open(forward);
  const auto [client, server] = this->connect(forward, tcp);
  client.send("tcp");
  EXPECT_EQ(server.receive(3), "tcp");
  const testing::Port sender(SOCK_DGRAM, 0, forward.listen.address);
  sender.send("udp", forward.listen);
  EXPECT_EQ(udp.receive().bytes, "udp");
}

TYPED_TEST_P(GatewayConformance, ATakenPortIsAConflictAndLeavesNothing) {
  const auto tcp = this->inside(SOCK_STREAM);
  const auto udp = this->inside(SOCK_DGRAM);
  auto forward = this->tcp_forward("a", tcp);
  forward.udp = udp.endpoint();
  for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
    const testing::Port other(type, forward.listen.port, forward.listen.address);
    ASSERT_TRUE(other.is_open());
    EXPECT_EQ(this->refusal(forward), Code::Conflict);
    EXPECT_EQ(this->gateway().traffic("a"), std::nullopt);
  }
  this->open(forward);
  auto second = forward;
  second.id = "b";
  EXPECT_EQ(this->refusal(second), Code::Conflict);
}

TYPED_TEST_P(GatewayConformance, TheSameAgainIsNothingNew) {
  const auto target = this->inside(SOCK_STREAM);
  const auto forward = this->tcp_forward("a", target);
  this->open(forward);
  const auto [client, server] = this->connect(forward, target);
  this->open(forward);
  client.send("still");
  EXPECT_EQ(server.receive(5), "still");
  EXPECT_EQ(this->refusal(this->tcp_forward("a", target)), Code::Conflict);
}

TYPED_TEST_P(GatewayConformance, RefusesWhatMakesNoSense) {
  const auto target = this->inside(SOCK_STREAM);
  auto forward = this->tcp_forward("a", target);
  forward.tcp.reset();
  EXPECT_EQ(this->refusal(forward), Code::InvalidInput) << "no target";
  forward.tcp = Endpoint{"somewhere", 1};
  EXPECT_EQ(this->refusal(forward), Code::InvalidInput) << "a name";
  forward = this->tcp_forward("a", target);
  forward.listen.address = "192.0.2.1";
  EXPECT_EQ(this->refusal(forward), Code::InvalidInput) << "another machine's address";
}

TYPED_TEST_P(GatewayConformance, RefusesWhoIsNewAndLetsTheOthersStay) {
  const auto target = this->inside(SOCK_STREAM);
  const auto udp = this->inside(SOCK_DGRAM);
  auto forward = this->tcp_forward("a", target);
  forward.udp = udp.endpoint();
  this->open(forward);
  const auto [client, server] = this->connect(forward, target);
  const testing::Port known(SOCK_DGRAM, 0, forward.listen.address);
  known.send("1", forward.listen);
  EXPECT_EQ(udp.receive().bytes, "1");
  this->gateway().refuse_new("a");
  EXPECT_FALSE(testing::Stream::connect(forward.listen).is_open());
  client.send("still");
  EXPECT_EQ(server.receive(5), "still");
  const testing::Port late(SOCK_DGRAM, 0, forward.listen.address);
  late.send("new", forward.listen);
  known.send("2", forward.listen);
  EXPECT_EQ(udp.receive().bytes, "2");
  this->gateway().close("a");
  EXPECT_TRUE(this->is_cut(client));
  this->gateway().refuse_new("a");
}

TYPED_TEST_P(GatewayConformance, ClosingCutsAndRefuses) {
  const auto target = this->inside(SOCK_STREAM);
  const auto forward = this->tcp_forward("a", target);
  this->open(forward);
  const auto [client, server] = this->connect(forward, target);
  this->gateway().close("a");
  EXPECT_FALSE(testing::Stream::connect(forward.listen).is_open());
  EXPECT_TRUE(this->is_cut(client));
  EXPECT_EQ(this->gateway().traffic("a"), std::nullopt);
  this->gateway().close("a");
}

TYPED_TEST_P(GatewayConformance, ClosingCutsAlsoWhoIsSilent) {
  const auto target = this->inside(SOCK_STREAM);
  const auto forward = this->tcp_forward("a", target);
  this->open(forward);
  const auto [client, server] = this->connect(forward, target);
  this->gateway().close("a");
  EXPECT_TRUE(client.is_over());
  EXPECT_TRUE(server.is_over());
}

TYPED_TEST_P(GatewayConformance, AClosedPortIsFreeAtOnce) {
  const auto target = this->inside(SOCK_STREAM);
  const auto udp = this->inside(SOCK_DGRAM);
  auto forward = this->tcp_forward("0", target);
  forward.udp = udp.endpoint();
  for (int i = 0; i < 50; ++i) {
    forward.id = std::to_string(i);
    this->open(forward);
    const auto [client, server] = this->connect(forward, target);
    this->gateway().close(forward.id);
  }
  EXPECT_TRUE(testing::Port(SOCK_DGRAM, forward.listen.port, forward.listen.address).is_open());
  EXPECT_TRUE(testing::Port(SOCK_STREAM, forward.listen.port, forward.listen.address).is_open());
}

TYPED_TEST_P(GatewayConformance, ClosingOneLeavesTheOthers) {
  const auto target = this->inside(SOCK_STREAM);
  const auto one = this->tcp_forward("one", target);
  const auto two = this->tcp_forward("two", target);
  this->open(one);
  this->open(two);
  const auto [client, server] = this->connect(two, target);
  this->gateway().close("one");
  client.send("here");
  EXPECT_EQ(server.receive(4), "here");
}

TYPED_TEST_P(GatewayConformance, ATargetThatIsNotThereEndsTheConnection) {
  Forward forward;
  {
    const auto target = this->inside(SOCK_STREAM);
    forward = this->tcp_forward("a", target);
  }
  this->open(forward);
  const auto client = testing::Stream::connect(forward.listen);
  EXPECT_TRUE(!client.is_open() || client.is_over());
}

TYPED_TEST_P(GatewayConformance, TellsThatItIsUsedOnceAndByHowMany) {
  const auto target = this->inside(SOCK_STREAM);
  const auto forward = this->tcp_forward("a", target);
  this->open(forward);
  {
    const auto first = this->connect(forward, target);
    EXPECT_TRUE(this->told().has("used a"));
    EXPECT_TRUE(this->told().has("a has 1"));
    const auto second = this->connect(forward, target);
    EXPECT_TRUE(this->told().has("a has 2"));
    EXPECT_EQ(this->gateway().traffic("a")->open, 2u);
  }
  EXPECT_TRUE(this->told().has("a has 0"));
  EXPECT_EQ(this->told().count("used a"), 1u);
  EXPECT_EQ(this->gateway().traffic("a")->connections, 2u);
}

TYPED_TEST_P(GatewayConformance, ADatagramIsAUse) {
  const auto target = this->inside(SOCK_DGRAM);
  const auto forward = this->udp_forward("a", target);
  this->open(forward);
  const testing::Port client(SOCK_DGRAM, 0, forward.listen.address);
  client.send("!", forward.listen);
  EXPECT_TRUE(this->told().has("used a"));
  EXPECT_TRUE(this->told().has("a has 1"));
}

REGISTER_TYPED_TEST_SUITE_P(GatewayConformance, ForwardsTcpBothWays, ForwardsTheEndOfOneDirection,
                            ForwardsMegabytesToASlowReader, ForwardsUdpAndAnswersOfEachClient,
                            AClientOfUdpStaysTheSame, TcpAndUdpShareANumber,
                            ATakenPortIsAConflictAndLeavesNothing, TheSameAgainIsNothingNew,
                            RefusesWhatMakesNoSense, RefusesWhoIsNewAndLetsTheOthersStay,
                            ClosingCutsAndRefuses, ClosingCutsAlsoWhoIsSilent,
                            AClosedPortIsFreeAtOnce, ClosingOneLeavesTheOthers,
                            ATargetThatIsNotThereEndsTheConnection,
                            TellsThatItIsUsedOnceAndByHowMany, ADatagramIsAUse);

}  // namespace berth::session
