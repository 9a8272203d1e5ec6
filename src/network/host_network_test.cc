#include "network/host_network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "network/names.h"
#include "runtime/files/run_directory.h"
#include "runtime/runtimes.h"
#include "runtime/supervision/command.h"

// With real namespaces, bridges, tunnels, nftables and dnsmasq: hosts are network namespaces on one
// wire, instances are namespaces without a container.
namespace berth::network {
namespace {

namespace fs = std::filesystem;
using runtime::shim::Fd;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint16_t kPort = 7000;

model::Ipv4 ip(const std::string& text) { return *model::parse_ipv4(text); }

template <class Holds>
bool wait_until(const Holds& holds) {
  for (int i = 0; i < 1000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

std::string output_of(const NetworkNamespace& where, const std::vector<std::string>& argv) {
  const auto done = where.run([&] { return runtime::run_command(argv, 30s); });
  return done ? done->output : done.error().message;
}

sockaddr_in at(model::Ipv4 address, std::uint16_t port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(address.value);
  return to;
}

// Listens in an instance, on all of its addresses.
Fd listen_in(const NetworkNamespace& where, std::uint16_t port) {
  const auto opened = where.run([&]() -> Result<int> {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in any = at({0}, port);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0 &&
        ::listen(fd, 8) == 0) {
      return fd;
    }
    return Error{Code::Unavailable, "cannot listen"};
  });
  return Fd(opened.value_or(-1));
}

// The error, or 0; ETIMEDOUT if nothing is heard for long.
int finish_connect(int fd) {
  pollfd source{fd, POLLOUT, 0};
  if (::poll(&source, 1, 10'000) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

struct Connected {
  Fd socket;
  int error = 0;
};

Connected connect_from(const NetworkNamespace& where, model::Ipv4 address, std::uint16_t port) {
  const auto opened = where.run([&]() -> Result<int> {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const sockaddr_in to = at(address, port);
    static_cast<void>(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to));
    return fd;
  });
  Connected connected{.socket = Fd(opened.value_or(-1))};
  connected.error = finish_connect(connected.socket.get());
  return connected;
}

// Closed if nobody has come by then.
Fd accept_on(const Fd& listener, std::chrono::milliseconds within = 10s) {
  pollfd source{listener.get(), POLLIN, 0};
  if (::poll(&source, 1, static_cast<int>(within.count())) != 1) return Fd(-1);
  return Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
}

bool passes(const Fd& from, const Fd& to) {
  if (::send(from.get(), "x", 1, MSG_NOSIGNAL) != 1) return false;
  pollfd source{to.get(), POLLIN, 0};
  char byte = 0;
  return ::poll(&source, 1, 10'000) == 1 && ::recv(to.get(), &byte, 1, 0) == 1;
}

class Ended : public runtime::RunListener {
 public:
  void exited(const model::InstanceKey&, const model::RunId&, std::int32_t,
              const model::Problem&) override {
    is_told = true;
  }
  std::atomic<bool> is_told = false;
};

// An agent on a host, as far as its network goes.
struct Agent {
  std::string node;
  fs::path state_dir;
  Config config;
  std::unique_ptr<HostNetwork> network;
  std::vector<Fd> locks;                            // of runs that live
  std::map<model::InstanceKey, model::RunId> runs;  // the last of each
};

class Networks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "networks need root";
    for (const char* program : {"nft", "dnsmasq", "busybox"}) {
      if (runtime::find_program(program).empty()) GTEST_SKIP() << program << " is not installed";
    }
    name_ = fmt::format("berth-test-{}", ::getpid());
    directory_ = fs::temp_directory_path() / name_;
    fs::create_directories(directory_);
    auto wire = NetworkNamespace::make(name_ + "-wire");
    ASSERT_TRUE(wire) << wire.error().message;
    wire_.emplace(*std::move(wire));
    wire_links_.emplace(*Links::open(*wire_));
    ASSERT_TRUE(
        wire_links_->make(BridgeSpec{.name = "wire", .mac = mac_of_bridge(ip("192.0.2.254"))}));
  }

  void TearDown() override {
    for (const auto& agent : agents_) {
      agent->network.reset();
      agent->locks.clear();
      const NetworkNamespace& host = hosts_.at(agent->config.server);
      const auto removed = host.run([&] { return HostNetwork::remove_all(agent->config); });
      EXPECT_TRUE(removed) << removed.error().message;
      EXPECT_THAT(NetworkNamespace::names(router_namespace(agent->node, tag(*agent))),
                  ::testing::IsEmpty());
      EXPECT_THAT(NetworkNamespace::names(instance_namespace_prefix(tag(*agent))),
                  ::testing::IsEmpty());
      EXPECT_THAT(output_of(host, {"nft", "list", "tables"}), Not(HasSubstr(tag(*agent))));
      EXPECT_FALSE(fs::exists(fs::path("/run/berth") / tag(*agent)));
    }
    for (const auto& [name, host] : hosts_) NetworkNamespace::remove(name);
    if (wire_) NetworkNamespace::remove(name_ + "-wire");
    fs::remove_all(directory_);
  }

  static std::string tag(const Agent& agent) { return agent.config.tag; }

  // A machine on the wire, with the address 192.0.2.NUMBER.
  std::string add_host(int number) {
    const std::string name = fmt::format("{}-host{}", name_, number);
    hosts_.emplace(name, *NetworkNamespace::make(name));
    const auto wire = wire_links_->find("wire");
    EXPECT_TRUE(wire_links_->make(VethSpec{.name = fmt::format("to{}", number),
                                           .alias = "",
                                           .master = (*wire)->index,
                                           .peer_name = "eth0",
                                           .peer_namespace = hosts_.at(name).fd()}));
    Links links = *Links::open(hosts_.at(name));
    const auto device = links.find("eth0");
    EXPECT_TRUE(links.ensure_address((*device)->index, address_of_host(number), 24));
    EXPECT_TRUE(links.set_up((*device)->index));
    return name;
  }
  static model::Ipv4 address_of_host(int number) { return ip(fmt::format("192.0.2.{}", number)); }

  Agent& add_agent(const std::string& node, const std::string& host,
                   std::optional<model::Ipv4> address) {
    agents_.push_back(std::make_unique<Agent>());
    Agent& agent = *agents_.back();
    agent.node = node;
    agent.state_dir = directory_ / node;
    fs::create_directories(agent.state_dir);
    agent.config = {.node = node,
                    .tag = earlier_tag_of(node, agent.state_dir),  // as good as any
                    .state_dir = agent.state_dir,
                    .address = address,
                    .server = host,  // no name that can be found; our tests find the host by it
                    .link_range = *model::parse_subnet("198.18.0.0/16"),
                    .name_servers = {}};
    start(agent);
    return agent;
  }

  void start(Agent& agent) {
    auto opened =
        hosts_.at(agent.config.server).run([&] { return HostNetwork::open(agent.config); });
    ASSERT_TRUE(opened) << opened.error().message;
    agent.network = *std::move(opened);
  }

  void restart(Agent& agent) {
    agent.network.reset();
    start(agent);
  }

  // Joins, and says that a run of it lives.
  NetworkNamespace join(Agent& agent, const std::string& item, const std::string& owner,
                        const std::string& address) {
    const model::InstanceKey key{model::ItemId(item), model::SubjectId("car"), 0};
    const model::RunId id{.generation = {}, .attempt = ++runs_};
    agent.runs[key] = id;
    const auto joined = agent.network->attach(key, id, {model::OwnerId(owner), ip(address)});
    EXPECT_TRUE(joined) << joined.error().message;
    const runtime::RunDirectory run(agent.state_dir, key, id);
    fs::create_directories(agent.state_dir / "runs");
    EXPECT_TRUE(run.create({.found = {.key = key}, .runtime = {}, .boot = {}}));
    Fd lock(::open((run.path() / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ::flock(lock.get(), LOCK_EX);
    agent.locks.push_back(std::move(lock));
    return *NetworkNamespace::open(instance_namespace(tag(agent), key));
  }

  NetworkNamespace router_of(const Agent& agent) {
    return *NetworkNamespace::open(router_namespace(agent.node, tag(agent)));
  }

  static model::ProviderNetwork network_of(const std::string& owner, int number, int node,
                                           std::vector<model::Ipv4> peers) {
    return {.owner = model::OwnerId(owner),
            .vxlan = static_cast<std::uint32_t>(100 + number),
            .subnet = *model::parse_subnet(fmt::format("10.{}.0.0/20", number)),
            .node_address = ip(fmt::format("10.{}.0.{}", number, node)),
            .peers = std::move(peers)};
  }

  std::uint32_t runs_ = 0;
  std::string name_;
  fs::path directory_;
  std::optional<NetworkNamespace> wire_;
  std::optional<Links> wire_links_;
  std::map<std::string, NetworkNamespace> hosts_;
  std::vector<std::unique_ptr<Agent>> agents_;
};

TEST_F(Networks, InstancesOfOneOwnerReachEachOtherByNameFromHostToHost) {
  Agent& a = add_agent("a", add_host(1), address_of_host(1));
  Agent& b = add_agent("b", add_host(2), address_of_host(2));
  Agent& c = add_agent("c", add_host(3), address_of_host(3));
  EXPECT_EQ(a.network->address(), address_of_host(1));
  const std::vector<model::NamedAddress> names{{ip("10.1.0.11"), {"web", "all"}},
                                               {ip("10.1.0.12"), {"db", "all"}}};
  int number = 0;
  for (Agent* agent : {&a, &b, &c}) {
    ++number;
    std::vector<model::Ipv4> peers;
    for (const int other : {1, 2, 3}) {
      if (other != number) peers.push_back(address_of_host(other));
    }
    agent->network->apply(
        {.networks = {network_of("acme", 1, number, peers)}, .names = names, .flows = {}});
  }
  const NetworkNamespace web = join(a, "web", "acme", "10.1.0.11");
  const NetworkNamespace db = join(b, "db", "acme", "10.1.0.12");
  const NetworkNamespace third = join(c, "third", "acme", "10.1.0.13");
  const Fd listener = listen_in(web, kPort);
  EXPECT_EQ(connect_from(db, ip("10.1.0.11"), kPort).error, 0);
  EXPECT_EQ(connect_from(third, ip("10.1.0.11"), kPort).error, 0);
  EXPECT_EQ(connect_from(third, ip("10.1.0.12"), kPort).error, ECONNREFUSED);
  const std::string found = output_of(third, {"busybox", "nslookup", "all", "10.1.0.3"});
  EXPECT_THAT(found, HasSubstr("10.1.0.11"));
  EXPECT_THAT(found, HasSubstr("10.1.0.12"));
  EXPECT_THAT(output_of(third, {"busybox", "nslookup", "nobody", "10.1.0.3"}),
              HasSubstr("NXDOMAIN"));

  const auto traffic = c.network->traffic();
  ASSERT_EQ(traffic.size(), 1u);
  EXPECT_GT(traffic.begin()->second.sent, 100u);
  EXPECT_GT(traffic.begin()->second.received, 100u);
  EXPECT_GT(c.network->traffic_of_node().sent, traffic.begin()->second.sent);
}

TEST_F(Networks, AgentsOnOneMachineReachEachOther) {
  const std::string host = add_host(1);
  Agent& a = add_agent("a", host, address_of_host(1));
  Agent& b = add_agent("b", host, std::nullopt);
  Agent& late = add_agent("c", host, address_of_host(1));
  EXPECT_EQ(a.network->address(), address_of_host(1));
  EXPECT_NE(b.network->address(), address_of_host(1));
  EXPECT_NE(late.network->address(), address_of_host(1));  // another agent has it
  a.network->apply(
      {.networks = {network_of("acme", 1, 1, {b.network->address()})}, .names = {}, .flows = {}});
  b.network->apply(
      {.networks = {network_of("acme", 1, 2, {a.network->address()})}, .names = {}, .flows = {}});
  const NetworkNamespace web = join(a, "web", "acme", "10.1.0.11");
  const NetworkNamespace db = join(b, "db", "acme", "10.1.0.12");
  const Fd listener = listen_in(web, kPort);
  EXPECT_EQ(connect_from(db, ip("10.1.0.11"), kPort).error, 0);
}

// A real machine with a guest of its own, and a neighbour on another host.
TEST_F(Networks, AGuestSpeaksAtTheAddressOfItsInstance) {
  if (runtime::find_program(runtime::kEmulator).empty()) GTEST_SKIP() << "qemu is not installed";
  const auto made = runtime::run_command(
      {BERTH_SOURCE_DIR "/tools/make_vm_guest.sh", (directory_ / "guest").string()}, 5min);
  if (!made || made->code != 0) GTEST_SKIP() << (made ? made->output : made.error().message);
  Agent& a = add_agent("a", add_host(1), address_of_host(1));
  Agent& b = add_agent("b", add_host(2), address_of_host(2));
  a.network->apply(
      {.networks = {network_of("acme", 1, 1, {address_of_host(2)})}, .names = {}, .flows = {}});
  b.network->apply(
      {.networks = {network_of("acme", 1, 2, {address_of_host(1)})}, .names = {}, .flows = {}});
  const NetworkNamespace neighbour = join(b, "neighbour", "acme", "10.1.0.12");
  const Fd listener = listen_in(neighbour, kPort);

  model::InstanceSpec spec;
  spec.key = {model::ItemId("guest"), model::SubjectId("car"), 0};
  spec.item.id = spec.key.item;
  spec.item.images.push_back(
      {.form = model::VmImage{
           .kernel = "vmlinuz", .initrd = "initrd", .disk = "", .cmdline = "quiet"}});
  // It talks to its neighbour until that hangs up, then answers whoever comes.
  spec.item.args = {"-c",
                    fmt::format("echo x | nc 10.1.0.12 {0}; exec httpd -f -p {0} -h /", kPort)};
  spec.uid = spec.gid = 41'000;
  spec.network = model::InstanceNetwork{model::OwnerId("acme"), ip("10.1.0.11")};
  Ended ended;
  const auto machines =
      runtime::make_runtime({.state_dir = a.state_dir,
                             .agent_id = "a",
                             .tag = tag(a),
                             .shim = fs::path(BERTH_BIN_DIR) / "berth-shim",
                             .image_dir = directory_ / "guest",
                             .networks = a.network.get()},
                            {model::RuntimeId("vm"), model::RuntimeType::Vm}, ended);
  const auto started = machines->start(spec, {});
  ASSERT_TRUE(started) << started.error().message;

  Fd accepted = accept_on(listener, 60s);  // a machine has to come up first
  ASSERT_TRUE(accepted.is_open());
  accepted.reset();
  const auto answers = [&] { return connect_from(neighbour, ip("10.1.0.11"), kPort).error == 0; };
  EXPECT_TRUE(wait_until(answers));
  EXPECT_GT(machines->measure().at(spec.key).sent, 0);
  machines->stop(spec.key, {}, 0s);
  EXPECT_TRUE(wait_until([&] { return ended.is_told.load(); }));
}

// One instance of acme on a, one of other on b; both nodes have both networks.
class TwoOwners : public Networks {
 protected:
  void SetUp() override {
    Networks::SetUp();
    if (IsSkipped()) return;
    a_ = &add_agent("a", add_host(1), address_of_host(1));
    b_ = &add_agent("b", add_host(2), address_of_host(2));
    allow({});
    client_.emplace(join(*a_, "client", "acme", "10.1.0.11"));
    server_.emplace(join(*b_, "server", "other", "10.2.0.12"));
    listener_ = listen_in(*server_, kPort);
  }

  void allow(const std::vector<model::AllowedFlow>& flows) {
    a_->network->apply({.networks = {network_of("acme", 1, 1, {address_of_host(2)}),
                                     network_of("other", 2, 1, {address_of_host(2)})},
                        .names = {},
                        .flows = flows});
    b_->network->apply({.networks = {network_of("acme", 1, 2, {address_of_host(1)}),
                                     network_of("other", 2, 2, {address_of_host(1)})},
                        .names = {},
                        .flows = {}});
  }
  static model::AllowedFlow the_flow() {
    return {.from = ip("10.1.0.11"), .to = ip("10.2.0.12"), .port = {.number = kPort}};
  }
  bool has_flow() {
    return output_of(router_of(*a_), {"nft", "list", "set", "inet", "berth", "flows"})
               .find("10.1.0.11 . 10.2.0.12") != std::string::npos;
  }

  Agent* a_ = nullptr;
  Agent* b_ = nullptr;
  std::optional<NetworkNamespace> client_;
  std::optional<NetworkNamespace> server_;
  Fd listener_;
};

TEST_F(TwoOwners, WhatIsNotAllowedIsRefusedAndCounted) {
  EXPECT_EQ(connect_from(*client_, ip("10.2.0.12"), kPort).error, EHOSTUNREACH);
  EXPECT_THAT(output_of(router_of(*a_),
                        {"nft", "list", "counter", "inet", "berth", "refused-between-networks"}),
              ::testing::ContainsRegex("packets [1-9]"));
}

TEST_F(TwoOwners, TheNodesThemselvesOfferNothingButNames) {
  EXPECT_EQ(connect_from(*client_, ip("10.1.0.1"), 22).error, EHOSTUNREACH);
  EXPECT_EQ(connect_from(*client_, ip("10.2.0.1"), 22).error, EHOSTUNREACH);
}

TEST_F(TwoOwners, AnAllowedFlowPassesAndIsCounted) {
  allow({the_flow()});
  ASSERT_TRUE(wait_until([&] { return has_flow(); }));
  const Connected connected = connect_from(*client_, ip("10.2.0.12"), kPort);
  EXPECT_EQ(connected.error, 0);
  EXPECT_THAT(output_of(router_of(*a_), {"nft", "list", "set", "inet", "berth", "flows"}),
              ::testing::ContainsRegex("packets [1-9]"));
  EXPECT_NE(connect_from(*client_, ip("10.2.0.12"), kPort + 1).error, ECONNREFUSED);
}

TEST_F(TwoOwners, AFlowThatIsNoLongerAllowedIsCut) {
  allow({the_flow()});
  ASSERT_TRUE(wait_until([&] { return has_flow(); }));
  const Connected connected = connect_from(*client_, ip("10.2.0.12"), kPort);
  const Fd accepted = accept_on(listener_);
  ASSERT_TRUE(passes(connected.socket, accepted));
  allow({});
  ASSERT_TRUE(wait_until([&] { return !has_flow(); }));
  ::send(connected.socket.get(), "x", 1, MSG_NOSIGNAL);
  pollfd source{accepted.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&source, 1, 500), 0);
}

TEST_F(TwoOwners, ARestartOfTheAgentKeepsOpenConnections) {
  allow({the_flow()});
  ASSERT_TRUE(wait_until([&] { return has_flow(); }));
  const Connected connected = connect_from(*client_, ip("10.2.0.12"), kPort);
  const Fd accepted = accept_on(listener_);
  ASSERT_TRUE(passes(connected.socket, accepted));
  const std::string devices = output_of(router_of(*a_), {"ip", "-o", "link"});
  for (Agent* agent : {a_, b_}) restart(*agent);
  EXPECT_TRUE(passes(connected.socket, accepted));
  allow({the_flow()});
  const model::InstanceKey key{model::ItemId("client"), model::SubjectId("car"), 0};
  EXPECT_TRUE(a_->network->attach(key, a_->runs[key], {model::OwnerId("acme"), ip("10.1.0.11")}));
  EXPECT_TRUE(passes(connected.socket, accepted));
  EXPECT_TRUE(passes(accepted, connected.socket));
  EXPECT_EQ(output_of(router_of(*a_), {"ip", "-o", "link"}), devices);
}

TEST_F(TwoOwners, AMovedInstanceIsFoundAtOnce) {
  const NetworkNamespace neighbour = join(*a_, "neighbour", "other", "10.2.0.13");
  EXPECT_EQ(connect_from(neighbour, ip("10.2.0.12"), kPort).error, 0);
  const model::InstanceKey key{model::ItemId("server"), model::SubjectId("car"), 0};
  b_->locks.clear();
  b_->network->release(key, b_->runs[key]);
  const NetworkNamespace moved = join(*a_, "server", "other", "10.2.0.12");
  const Fd listener = listen_in(moved, kPort);
  EXPECT_EQ(connect_from(neighbour, ip("10.2.0.12"), kPort).error, 0);
  a_->locks.clear();
  a_->network->release(key, a_->runs[key]);
  const NetworkNamespace back = join(*b_, "server", "other", "10.2.0.12");
  const Fd again = listen_in(back, kPort);
  EXPECT_EQ(connect_from(neighbour, ip("10.2.0.12"), kPort).error, 0);
}

// Between the two there is no shim yet that would say that the run lives.
TEST_F(TwoOwners, WhatANewRunHasJoinedIsNotTakenAwayWithTheOneBefore) {
  const model::InstanceKey key{model::ItemId("server"), model::SubjectId("car"), 0};
  const std::string name = instance_namespace(tag(*b_), key);
  const model::RunId before = b_->runs[key];
  const model::RunId after{.generation = {}, .attempt = ++runs_};
  b_->locks.clear();
  ASSERT_TRUE(b_->network->attach(key, after, {model::OwnerId("other"), ip("10.2.0.12")}));
  b_->network->release(key, before);
  EXPECT_TRUE(NetworkNamespace::open(name));
  b_->network->release(key, after);
  EXPECT_FALSE(NetworkNamespace::open(name));
}

TEST_F(TwoOwners, TheNameServerIsStartedAgainWhenItEnds) {
  const auto answers = [&] {
    return output_of(*client_, {"busybox", "nslookup", "nobody", "10.1.0.1"}).find("NXDOMAIN") !=
           std::string::npos;
  };
  ASSERT_TRUE(wait_until(answers));
  pid_t pid = 0;
  std::ifstream(fs::path("/run/berth") / tag(*a_) / "dnsmasq.pid") >> pid;
  ASSERT_GT(pid, 0);
  restart(*a_);
  EXPECT_TRUE(answers());  // the same one, without a gap
  EXPECT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_TRUE(wait_until(answers));
}

TEST_F(TwoOwners, ABridgeOrRulesThatAreGoneAreNoticedAndMadeAgain) {
  HostNetwork& network = *a_->network;
  const auto works = [&] { return network.why_not_ready().empty(); };
  ASSERT_TRUE(wait_until(works)) << network.why_not_ready();
  Links links = *Links::open(router_of(*a_));
  // Again and again: it may be healed by a look that was due anyway.
  EXPECT_TRUE(wait_until([&] {
    return links.remove("net101") &&
           network.why_not_ready() == "device net101 of the router is gone";
  }));
  EXPECT_TRUE(wait_until(works)) << network.why_not_ready();
  EXPECT_TRUE(*links.find("net101"));
  EXPECT_TRUE(wait_until([&] {
    output_of(router_of(*a_), {"nft", "delete", "table", "inet", "berth"});
    return network.why_not_ready() == "the rules of the firewall are gone";
  }));
  EXPECT_TRUE(wait_until(works)) << network.why_not_ready();
  EXPECT_THAT(output_of(router_of(*a_), {"nft", "list", "tables"}), HasSubstr("inet berth"));
}

TEST_F(TwoOwners, WhatIsNoLongerListedIsTakenDown) {
  a_->network->apply(
      {.networks = {network_of("acme", 1, 1, {address_of_host(2)})}, .names = {}, .flows = {}});
  Links links = *Links::open(router_of(*a_));
  EXPECT_TRUE(wait_until([&] { return !*links.find("net102") && !*links.find("tun102"); }));
  EXPECT_TRUE(*links.find("net101"));
}

TEST_F(TwoOwners, AnInstanceOfAnUnknownNetworkIsTheOnlyOneThatFails) {
  const model::InstanceKey key{model::ItemId("stray"), model::SubjectId("car"), 0};
  const auto joined = a_->network->attach(key, {}, {model::OwnerId("nobody"), ip("10.9.0.2")});
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().reason, "NetworkFailed");
  EXPECT_THAT(joined.error().message, HasSubstr("nobody"));
  join(*a_, "another", "acme", "10.1.0.14");
}

TEST_F(TwoOwners, WhatEndedWhileNobodyLookedIsTakenAway) {
  a_->network.reset();
  a_->locks.clear();
  start(*a_);
  EXPECT_THAT(NetworkNamespace::names(instance_namespace_prefix(tag(*a_))), ::testing::IsEmpty());
}

TEST(NetworkNamespace, ASocketStandsInside) {
  if (::geteuid() != 0) GTEST_SKIP() << "networks need root";
  const std::string name = fmt::format("berth-socket-{}", ::getpid());
  const auto inside = NetworkNamespace::make(name);
  NetworkNamespace::remove(name);  // it lives on while it is held
  ASSERT_TRUE(inside) << inside.error().message;
  const runtime::shim::Fd listener(inside->open_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC));
  ASSERT_TRUE(listener.is_open());
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  sockaddr_in at{};
  socklen_t size = sizeof at;
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
  // Its loopback is down: nobody is reached there, as somebody would be from outside.
  const runtime::shim::Fd caller(inside->open_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC));
  EXPECT_NE(::connect(caller.get(), reinterpret_cast<sockaddr*>(&at), size), 0);
  EXPECT_EQ(errno, ENETUNREACH);
}

}  // namespace
}  // namespace berth::network
