#include "session/nftables_gateway.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "network/firewall.h"
#include "network/links.h"
#include "runtime/supervision/command.h"
#include "session/conformance.h"
#include "session/forwarder.h"

// In a network namespace of the test's own.
namespace berth::session {
namespace {

using testing::becomes;
using testing::Port;
using testing::Stream;

// The calling thread is in a new network, with nothing but the loopback, while this lives.
class OwnNetwork {
 public:
  OwnNetwork() {
    auto own = network::NetworkNamespace::own();
    if (!own || ::unshare(CLONE_NEWNET) != 0) return;
    home_.emplace(*std::move(own));
    network_.emplace(*network::NetworkNamespace::own());
    auto links = network::Links::open(*network_);
    const auto loopback = links->find("lo");
    CHECK(links->set_up((*loopback)->index).has_value(), "the loopback is up");
  }
  ~OwnNetwork() {
    if (home_) CHECK(::setns(home_->fd(), CLONE_NEWNET) == 0, "back home");
  }

  bool is_there() const { return home_.has_value(); }
  const network::NetworkNamespace& get() const { return *network_; }

 private:
  std::optional<network::NetworkNamespace> home_;
  std::optional<network::NetworkNamespace> network_;
};

std::unique_ptr<NftablesGateway> open_gateway(testing::Told& told,
                                              const std::string& tag = "0123abcd") {
  auto made = NftablesGateway::open({.tag = tag}, told_callbacks(told));
  if (!made) ADD_FAILURE() << made.error().message;
  return made ? *std::move(made) : nullptr;
}

bool can_have_rules() { return ::geteuid() == 0 && !runtime::find_program("nft").empty(); }

struct NftablesHarness {
  NftablesHarness() {
    if (why_not().empty()) made = open_gateway(all);
  }

  static std::string why_not() { return can_have_rules() ? "" : "rules need root and nft"; }
  Gateway& gateway() { return *made; }
  testing::Told& told() { return all; }
  std::string outside() { return "127.0.0.1"; }
  std::string inside() { return "127.0.0.1"; }

  OwnNetwork network;
  testing::Told all;
  std::unique_ptr<NftablesGateway> made;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Nftables, GatewayConformance, NftablesHarness);

// Lives of an agent's gateway, one after the other, and what they are used by.
class NftablesGatewayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_have_rules()) GTEST_SKIP() << "rules need root and nft";
    gateway_ = open_gateway(told_);
    ASSERT_NE(gateway_, nullptr);
  }

  void restart() {
    gateway_.reset();
    gateway_ = open_gateway(told_);
  }
  Forward open_tcp(const std::string& id, const Port& target) {
    const Forward forward{
        .id = id, .listen = {"127.0.0.1", testing::free_port()}, .tcp = target.endpoint()};
    EXPECT_TRUE(gateway_->open(forward));
    return forward;
  }
  static Forward renamed(Forward forward, const std::string& id) {
    forward.id = id;
    return forward;
  }
  std::string nft(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), runtime::find_program("nft"));
    const auto done = network_.get().run(
        [&] { return runtime::run_command(arguments, std::chrono::seconds(30)); });
    return done ? done->output : done.error().message;
  }
  std::string rules() { return nft({"list", "ruleset"}); }
  static bool passes(const Stream& from, const Stream& to) {
    return from.send("still") && to.receive(5) == "still";
  }
  static bool is_cut(const Stream& stream) {
    stream.send("?");
    return stream.is_over();
  }

  OwnNetwork network_;
  testing::Told told_;
  std::unique_ptr<NftablesGateway> gateway_;
};

TEST_F(NftablesGatewayTest, WhoIsConnectedStaysAndOthersComeWhileNobodyIsThere) {
  const Port target(SOCK_STREAM);
  const auto forward = open_tcp("1", target);
  const auto client = Stream::connect(forward.listen);
  const auto server = target.accept();
  gateway_.reset();
  EXPECT_TRUE(passes(client, server));
  const auto other = Stream::connect(forward.listen);
  const auto other_server = target.accept();
  EXPECT_TRUE(passes(other, other_server));
  restart();
  ASSERT_TRUE(gateway_->open(renamed(forward, "2")));
  gateway_->settle();
  EXPECT_TRUE(told_.has("2 has 2"));
  EXPECT_TRUE(told_.has("used 2"));
  EXPECT_TRUE(passes(server, client));
  EXPECT_TRUE(passes(other_server, other));
  gateway_->close("2");
  EXPECT_TRUE(is_cut(client));
}

TEST_F(NftablesGatewayTest, WhatNobodyWantsInTheNextLifeIsClosed) {
  const Port target(SOCK_STREAM);
  const auto wanted = open_tcp("1", target);
  const auto unwanted = open_tcp("2", target);
  const auto refusing = open_tcp("3", target);
  const auto kept = Stream::connect(wanted.listen);
  const auto kept_server = target.accept();
  const auto client = Stream::connect(unwanted.listen);
  const auto server = target.accept();
  gateway_->refuse_new("3");
  restart();
  ASSERT_TRUE(gateway_->open(renamed(wanted, "4")));
  gateway_->settle();
  EXPECT_TRUE(is_cut(client));
  EXPECT_TRUE(is_cut(server));
  EXPECT_FALSE(Stream::connect(unwanted.listen).is_open());
  EXPECT_FALSE(Stream::connect(refusing.listen).is_open());
  EXPECT_TRUE(passes(kept, kept_server));
  EXPECT_TRUE(becomes([&] {
    return rules().find("tcp . " + std::to_string(unwanted.listen.port)) == std::string::npos;
  }));
}

TEST_F(NftablesGatewayTest, WhoIsRefusedIsSoInTheNextLife) {
  const Port target(SOCK_STREAM);
  const auto forward = open_tcp("1", target);
  const auto client = Stream::connect(forward.listen);
  const auto server = target.accept();
  gateway_->refuse_new("1");
  restart();
  ASSERT_TRUE(gateway_->open(renamed(forward, "2")));
  gateway_->settle();
  EXPECT_FALSE(Stream::connect(forward.listen).is_open());
  EXPECT_TRUE(passes(client, server));
  gateway_->close("2");
  EXPECT_TRUE(is_cut(client));
}

TEST_F(NftablesGatewayTest, APortThatAStrangerTookMeanwhileIsHis) {
  const Port target(SOCK_STREAM);
  const auto forward = open_tcp("1", target);
  gateway_.reset();
  const Port stranger(SOCK_STREAM, forward.listen.port);
  ASSERT_TRUE(stranger.is_open());
  restart();
  EXPECT_EQ(gateway_->open(renamed(forward, "2")).error().code, Code::Conflict);
  gateway_->settle();
  const auto client = Stream::connect(forward.listen);
  EXPECT_TRUE(passes(client, stranger.accept()));
}

TEST_F(NftablesGatewayTest, ConnectionsOfWhoHadThePortBeforeDoNotCount) {
  const Endpoint at{"127.0.0.1", testing::free_port()};
  {
    const Port before(SOCK_STREAM, at.port);
    const auto client = Stream::connect(at);
    const auto server = before.accept();
    server.end_sending();  // its end waits for late packets
    EXPECT_TRUE(client.is_over());
  }
  const Port target(SOCK_STREAM);
  ASSERT_TRUE(gateway_->open({.id = "1", .listen = at, .tcp = target.endpoint()}));
  EXPECT_FALSE(Port(SOCK_STREAM, at.port).is_open()) << "it is held";
  EXPECT_FALSE(Port(SOCK_STREAM, at.port, "0.0.0.0").is_open());
}

TEST_F(NftablesGatewayTest, NobodyOfASessionReachesTheNextOneAtThePort) {
  const Port target(SOCK_STREAM);
  auto forward = open_tcp("1", target);
  const auto client = Stream::connect(forward.listen);
  const auto server = target.accept();
  gateway_->close("1");
  const Port next(SOCK_STREAM);
  forward.tcp = next.endpoint();
  ASSERT_TRUE(gateway_->open(renamed(forward, "2")));
  EXPECT_TRUE(is_cut(client));
  EXPECT_TRUE(is_cut(server));
  const auto other = Stream::connect(forward.listen);
  EXPECT_TRUE(passes(other, next.accept()));
}

TEST_F(NftablesGatewayTest, NobodyOfASessionGoesOnInTheNextOneOfItsInstance) {
  const Port target(SOCK_STREAM);
  const auto forward = open_tcp("1", target);
  const auto client = Stream::connect(forward.listen);
  const auto server = target.accept();
  gateway_->close("1");
  ASSERT_TRUE(gateway_->open(renamed(forward, "2")));
  EXPECT_TRUE(is_cut(client));
  EXPECT_TRUE(is_cut(server));
  const auto other = Stream::connect(forward.listen);
  EXPECT_TRUE(passes(other, target.accept()));
}

TEST_F(NftablesGatewayTest, DatagramsOfASessionDoNotReachTheNextOne) {
  const Port target(SOCK_DGRAM);
  Forward forward{
      .id = "1", .listen = {"127.0.0.1", testing::free_port()}, .udp = target.endpoint()};
  ASSERT_TRUE(gateway_->open(forward));
  const Port client(SOCK_DGRAM);
  client.send("1", forward.listen);
  const auto from = target.receive().from;
  gateway_->close("1");
  const Port next(SOCK_DGRAM);
  forward.udp = next.endpoint();
  ASSERT_TRUE(gateway_->open(renamed(forward, "2")));
  target.send("late", from);
  client.send("late", forward.listen);
  const Port other(SOCK_DGRAM);
  other.send("2", forward.listen);
  const auto heard = next.receive();
  EXPECT_EQ(heard.bytes, "2");
}

TEST_F(NftablesGatewayTest, RefusedDatagramsAreAnswered) {
  const Port target(SOCK_DGRAM);
  const Forward forward{
      .id = "1", .listen = {"127.0.0.1", testing::free_port()}, .udp = target.endpoint()};
  ASSERT_TRUE(gateway_->open(forward));
  gateway_->refuse_new("1");
  const Port client(SOCK_DGRAM);
  const auto to = SocketAddress::of(forward.listen);
  ASSERT_EQ(::connect(client.fd(), to->get(), to->size()), 0);
  ::send(client.fd(), "?", 1, 0);
  char byte = 0;
  EXPECT_EQ(::recv(client.fd(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, ECONNREFUSED);
}

TEST_F(NftablesGatewayTest, TwoAgentsOfAMachineDoNotMeet) {
  testing::Told other_told;
  auto other = open_gateway(other_told, "4567cdef");
  const Port target(SOCK_STREAM);
  const auto ours = open_tcp("1", target);
  const Port their_target(SOCK_STREAM);
  const Forward theirs{
      .id = "1", .listen = {"127.0.0.2", ours.listen.port}, .tcp = their_target.endpoint()};
  ASSERT_TRUE(other->open(theirs));
  const auto client = Stream::connect(theirs.listen);
  const auto server = their_target.accept();
  gateway_->close("1");
  restart();
  gateway_->settle();
  gateway_.reset();
  ASSERT_TRUE(NftablesGateway::remove_all("0123abcd"));
  EXPECT_TRUE(passes(client, server));
  EXPECT_EQ(rules().find("0123abcd"), std::string::npos);
}

TEST_F(NftablesGatewayTest, WhoIsConnectedIsCutWhenAllIsTakenAway) {
  const Port target(SOCK_STREAM);
  const auto forward = open_tcp("1", target);
  const auto client = Stream::connect(forward.listen);
  const auto server = target.accept();
  gateway_.reset();
  ASSERT_TRUE(NftablesGateway::remove_all("0123abcd"));
  EXPECT_TRUE(is_cut(client));
  ASSERT_TRUE(NftablesGateway::remove_all("0123abcd"));
}

TEST_F(NftablesGatewayTest, RulesThatSomebodyHasFlushedAreMadeAgain) {
  const Port target(SOCK_STREAM);
  const auto first = open_tcp("1", target);
  nft({"flush", "ruleset"});
  const auto second = open_tcp("2", target);
  for (const Forward& forward : {first, second}) {
    const auto client = Stream::connect(forward.listen);
    EXPECT_TRUE(passes(client, target.accept()));
  }
}

TEST_F(NftablesGatewayTest, WhatRulesAreNotMadeForIsForwardedByTheOther) {
  gateway_.reset();
  auto rest = Forwarder::open({}, told_callbacks(told_));
  auto made =
      NftablesGateway::open({.tag = "0123abcd", .rest = *std::move(rest)}, told_callbacks(told_));
  ASSERT_TRUE(made);
  const Port target(SOCK_STREAM);
  const Forward forward{
      .id = "6", .listen = {"::1", testing::free_port()}, .tcp = target.endpoint()};
  if (!(*made)->open(forward)) GTEST_SKIP() << "this machine has no IPv6";
  const auto client = Stream::connect(forward.listen);
  EXPECT_TRUE(passes(client, target.accept()));
  EXPECT_EQ((*made)->traffic("6")->connections, 1u);
  (*made)->close("6");
  EXPECT_TRUE(is_cut(client));
}

// --- Over a wire -------------------------------------------------------------------------------

// Another machine, or the instances' own network, at the other end of a wire.
class Elsewhere {
 public:
  struct Wire {
    const char* device;
    const char* address;  // here
    const char* other_device;
    const char* other_address;  // there
  };
  Elsewhere(const network::NetworkNamespace& here, const Wire& wire)
      : name_(fmt::format("berth-test-{}-{}", ::getpid(), wire.device)),
        there_(*network::NetworkNamespace::make(name_)) {
    auto links = network::Links::open(here);
    CHECK(links
              ->make(network::VethSpec{.name = wire.device,
                                       .alias = "",
                                       .peer_name = wire.other_device,
                                       .peer_namespace = there_.fd()})
              .has_value(),
          "a wire");
    set_up(here, wire.device, wire.address);
    set_up(there_, wire.other_device, wire.other_address);
    set_up(there_, "lo", "127.0.0.1");
  }
  ~Elsewhere() { network::NetworkNamespace::remove(name_); }

  const std::string& name() const { return name_; }
  const network::NetworkNamespace& get() const { return there_; }
  void route_by(const char* gateway) {
    CHECK(
        network::Links::open(there_)->ensure_default_route(*model::parse_ipv4(gateway)).has_value(),
        "a route");
  }
  Stream connect(const Endpoint& to) const {
    Stream stream;
    std::thread([&] {
      CHECK(::setns(there_.fd(), CLONE_NEWNET) == 0, "there");
      stream = Stream::connect(to);
    }).join();
    return stream;
  }
  std::unique_ptr<Port> listen(const std::string& address) const {
    std::unique_ptr<Port> port;
    std::thread([&] {
      CHECK(::setns(there_.fd(), CLONE_NEWNET) == 0, "there");
      port = std::make_unique<Port>(SOCK_STREAM, 0, address);
    }).join();
    return port;
  }

 private:
  static void set_up(const network::NetworkNamespace& where, const char* device,
                     const char* address) {
    auto links = network::Links::open(where);
    const auto link = links->find(device);
    CHECK(links->ensure_address((*link)->index, *model::parse_ipv4(address), 24).has_value(),
          "an address");
    CHECK(links->set_up((*link)->index).has_value(), "it is up");
  }

  const std::string name_;
  const network::NetworkNamespace there_;
};

constexpr Elsewhere::Wire kWire{"eth0", "192.0.2.1", "eth0", "192.0.2.2"};
constexpr Elsewhere::Wire kUplink{"bh0123abcd", "198.18.0.1", "up", "198.18.0.2"};

TEST_F(NftablesGatewayTest, ClientsFromElsewhereReachWhoListensAtTheLoopbackOnly) {
  const Elsewhere elsewhere(network_.get(), kWire);
  for (const char* address : {"192.0.2.1", "0.0.0.0"}) {
    const Port target(SOCK_STREAM);
    const Forward forward{
        .id = address, .listen = {address, testing::free_port()}, .tcp = target.endpoint()};
    ASSERT_TRUE(gateway_->open(forward));
    const Endpoint outside{"192.0.2.1", forward.listen.port};
    const auto client = elsewhere.connect(outside);
    ASSERT_TRUE(client.is_open());
    const auto server = target.accept();
    EXPECT_TRUE(passes(client, server));
    const auto local = Stream::connect(outside);
    EXPECT_TRUE(passes(local, target.accept()));
    gateway_->close(address);
    EXPECT_TRUE(client.is_over());
    EXPECT_TRUE(server.is_over());
    EXPECT_FALSE(elsewhere.connect(outside).is_open());
  }
}

TEST_F(NftablesGatewayTest, WhoListensAtEveryAddressIsReachedFromElsewhere) {
  const Elsewhere elsewhere(network_.get(), kWire);
  const Port target(SOCK_STREAM, 0, "0.0.0.0");
  const Forward forward{.id = "1",
                        .listen = {"192.0.2.1", testing::free_port()},
                        .tcp = Endpoint{"127.0.0.1", target.endpoint().port}};
  ASSERT_TRUE(gateway_->open(forward));
  const auto client = elsewhere.connect(forward.listen);
  EXPECT_TRUE(passes(client, target.accept()));
  gateway_->close("1");
  EXPECT_FALSE(elsewhere.connect(forward.listen).is_open());
}

TEST_F(NftablesGatewayTest, LoopbackAddressesAreNotReachedFromElsewhere) {
  Elsewhere elsewhere(network_.get(), kWire);
  const Port target(SOCK_STREAM);
  const Forward forward{
      .id = "1", .listen = {"192.0.2.1", testing::free_port()}, .tcp = target.endpoint()};
  ASSERT_TRUE(gateway_->open(forward));
  const std::string all = rules();
  EXPECT_NE(all.find("iifname != \"lo\" ip daddr 127.0.0.0/8 drop"), std::string::npos) << all;
}

// As an agent makes it: a router with its firewall, a bridge in it, and an instance behind that.
TEST_F(NftablesGatewayTest, AnInstanceBehindItsRouterIsReachedThroughBothFirewalls) {
  const auto ip = [](const char* text) { return *model::parse_ipv4(text); };
  Elsewhere router(network_.get(), kUplink);
  router.route_by("198.18.0.1");
  Elsewhere instance(router.get(), {"net7", "10.1.0.1", "eth0", "10.1.0.5"});
  instance.route_by("10.1.0.1");
  const Elsewhere elsewhere(network_.get(), kWire);
  model::NodeNetwork network;
  network.networks = {{.owner = model::OwnerId("acme"),
                       .vxlan = 7,
                       .subnet = *model::parse_subnet("10.1.0.0/24"),
                       .node_address = ip("10.1.0.1"),
                       .peers = {}}};
  ASSERT_TRUE(network::apply_rules(router.get(),
                                   network::router_rules(network, ip("198.18.0.2"), std::nullopt)));
  ASSERT_TRUE(network::apply_rules(network_.get(),
                                   network::host_rules({.tag = "0123abcd",
                                                        .device = kUplink.device,
                                                        .link_address = ip("198.18.0.2"),
                                                        .node_address = ip("198.18.0.2")})));
  for (const auto* where : {&network_.get(), &router.get()}) {
    std::thread([where] {
      CHECK(::setns(where->fd(), CLONE_NEWNET) == 0, "there");
      std::ofstream("/proc/sys/net/ipv4/ip_forward") << "1";
    }).join();
  }
  const auto target = instance.listen("10.1.0.5");
  gateway_.reset();
  auto made = NftablesGateway::open(
      {.tag = "0123abcd", .inside = NftablesGateway::Inside{router.name(), ip("198.18.0.2")}},
      told_callbacks(told_));
  ASSERT_TRUE(made);
  const Forward forward{.id = "1",
                        .listen = {"192.0.2.1", testing::free_port()},
                        .tcp = target->endpoint(),
                        .reach = Reach::Network};
  ASSERT_TRUE((*made)->open(forward));
  const auto local = Stream::connect(forward.listen);
  const auto local_server = target->accept();
  EXPECT_TRUE(passes(local, local_server));
  const auto remote = elsewhere.connect(forward.listen);
  ASSERT_TRUE(remote.is_open());
  const auto remote_server = target->accept();
  EXPECT_TRUE(passes(remote, remote_server));
  EXPECT_TRUE(passes(remote_server, remote));
  (*made)->close("1");
  for (const Stream* end : {&local, &local_server, &remote, &remote_server}) {
    EXPECT_TRUE(end->is_over());
  }
}

TEST_F(NftablesGatewayTest, TheInstancesOwnNetworkIsReachedAlsoFromTheLoopback) {
  Elsewhere inside(network_.get(), kUplink);
  inside.route_by("198.18.0.1");
  const auto target = inside.listen("198.18.0.2");
  gateway_.reset();
  const NftablesGateway::Inside where{inside.name(), *model::parse_ipv4("198.18.0.2")};
  const auto open_again = [&] {
    auto made = NftablesGateway::open({.tag = "0123abcd", .inside = where}, told_callbacks(told_));
    EXPECT_TRUE(made);
    gateway_ = *std::move(made);
  };
  open_again();
  const Forward forward{.id = "1",
                        .listen = {"127.0.0.1", testing::free_port()},
                        .tcp = target->endpoint(),
                        .reach = Reach::Network};
  ASSERT_TRUE(gateway_->open(forward));
  const auto client = Stream::connect(forward.listen);
  ASSERT_TRUE(client.is_open());
  const auto server = target->accept();
  EXPECT_TRUE(passes(client, server));
  open_again();
  ASSERT_TRUE(gateway_->open(renamed(forward, "2")));
  gateway_->settle();
  EXPECT_TRUE(passes(client, server));
  EXPECT_TRUE(passes(server, client));
  gateway_->close("2");
  EXPECT_TRUE(client.is_over());
  EXPECT_TRUE(server.is_over());
  EXPECT_FALSE(Stream::connect(forward.listen).is_open());
}

TEST_F(NftablesGatewayTest, AnotherNodeIsReachedAndStaysSoUntilItIsAskedForAgain) {
  const Elsewhere elsewhere(network_.get(), kWire);
  const auto target = elsewhere.listen("192.0.2.2");
  Forward forward{.id = "1",
                  .listen = {"127.0.0.1", testing::free_port()},
                  .tcp = target->endpoint(),
                  .reach = Reach::Elsewhere};
  ASSERT_TRUE(gateway_->open(forward));
  const auto client = Stream::connect(forward.listen);
  ASSERT_TRUE(client.is_open());
  const auto server = target->accept();
  EXPECT_TRUE(passes(client, server));
  restart();
  gateway_->settle();
  EXPECT_TRUE(passes(client, server)) << "the control plane has not said yet what it wants";
  ASSERT_TRUE(gateway_->open(renamed(forward, "2")));
  EXPECT_TRUE(passes(server, client));
  gateway_->close("2");
  EXPECT_TRUE(client.is_over());
  EXPECT_TRUE(server.is_over());
}

// Two agents on one machine, of which one is the gateway.
TEST_F(NftablesGatewayTest, WhatAnotherAgentOfTheMachineForwardsIsReachedThroughIt) {
  testing::Told other_told;
  auto other = open_gateway(other_told, "4567cdef");
  const Port target(SOCK_STREAM);
  const Forward behind{
      .id = "1", .listen = {"127.0.0.2", testing::free_port()}, .tcp = target.endpoint()};
  ASSERT_TRUE(other->open(behind));
  gateway_.reset();
  auto rest = Forwarder::open({}, told_callbacks(told_));
  auto made =
      NftablesGateway::open({.tag = "0123abcd", .rest = *std::move(rest)}, told_callbacks(told_));
  ASSERT_TRUE(made);
  const Forward forward{.id = "2",
                        .listen = {"127.0.0.1", testing::free_port()},
                        .tcp = behind.listen,
                        .reach = Reach::Elsewhere};
  ASSERT_TRUE((*made)->open(forward));
  const auto client = Stream::connect(forward.listen);
  EXPECT_TRUE(passes(client, target.accept()));
}

}  // namespace
}  // namespace berth::session
