#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/testing/driver.h"

namespace berth::control {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

NodeBuilder a_networked_node(int number) {
  return a_node().address("192.168.0." + std::to_string(number));
}

// Networks of six addresses; two of them.
Config a_config_of_one_network() {
  Config config;
  config.networks = *model::parse_subnet("10.0.0.0/28");
  config.network_prefix = 29;
  return config;
}

class Network : public ::testing::Test {
 protected:
  void join_nodes(int count) {
    for (int i = 1; i <= count; ++i) driver.join("n" + std::to_string(i), a_networked_node(i));
  }

  // "" if it was not told to run it on a network.
  std::string told_address(const std::string& node, const model::InstanceKey& key) {
    const auto& wanted = driver.agent(node).wanted();
    const auto spec = wanted.find(key);
    if (spec == wanted.end() || !spec->second.network) return "";
    return to_string(spec->second.network->address);
  }

  std::vector<std::string> owners_on(const std::string& node) {
    std::vector<std::string> owners;
    for (const auto& network : driver.agent(node).network->networks) {
      owners.push_back(network.owner.value());
    }
    return owners;
  }

  std::vector<std::string> peers_of(const std::string& node, const std::string& owner) {
    std::vector<std::string> peers;
    for (const auto& network : driver.agent(node).network->networks) {
      if (network.owner.value() != owner) continue;
      for (const model::Ipv4 peer : network.peers) peers.push_back(to_string(peer));
    }
    return peers;
  }

  // "10.0.0.2: 0.default.web default.web web"
  std::vector<std::string> names_on(const std::string& node) {
    std::vector<std::string> lines;
    for (const auto& named : driver.agent(node).network->names) {
      std::string line = to_string(named.address) + ":";
      for (const std::string& name : named.names) line += " " + name;
      lines.push_back(line);
    }
    return lines;
  }

  // "10.0.0.2 -> 10.0.0.10:80"
  std::vector<std::string> flows_on(const std::string& node) {
    std::vector<std::string> lines;
    for (const auto& flow : driver.agent(node).network->flows) {
      lines.push_back(to_string(flow.from) + " -> " + to_string(flow.to) + ":" +
                      std::to_string(flow.port.number));
    }
    return lines;
  }

  Driver driver{a_config_of_one_network()};
};

TEST_F(Network, AnInstanceIsToldItsAddressWithItsStartAndItsNodeTheNetwork) {
  join_nodes(1);
  driver.apply({a_service("web").owner("acme"), a_deployment("d", {a_run("web")})});
  EXPECT_EQ(driver.first().commands.size(), 1U);
  EXPECT_EQ(told_address("n1", key_of("web")), "10.0.0.2");
  ASSERT_THAT(owners_on("n1"), ElementsAre("acme"));
  const model::ProviderNetwork& network = driver.agent("n1").network->networks.front();
  EXPECT_EQ(to_string(network.subnet), "10.0.0.0/29");
  EXPECT_EQ(to_string(network.node_address), "10.0.0.1");
  EXPECT_THAT(network.peers, IsEmpty());
  EXPECT_THAT(names_on("n1"), ElementsAre("10.0.0.2: 0.default.web default.web web"));
}

TEST_F(Network, ProcessesAndInstancesOnNodesWithoutAnAddressUseTheNetworkOfTheirNode) {
  driver.join("n1", a_networked_node(1).runtime("process", model::RuntimeType::Process));
  driver.join("n2");
  driver.apply({a_service("tool").process(), a_service("web"),
                a_deployment("d", {a_run("tool").on("n1"), a_run("web").on("n2")})});
  EXPECT_EQ(driver.status_of(key_of("tool")), "active");
  EXPECT_EQ(driver.status_of(key_of("web")), "active");
  EXPECT_EQ(driver.record(key_of("tool")).address, std::nullopt);
  EXPECT_EQ(driver.record(key_of("web")).address, std::nullopt);
  EXPECT_TRUE(driver.durable().networks.empty());
}

TEST_F(Network, ANodeNeedsNoNetworkForWhatHasBecomeAProcess) {
  driver.join("n1", a_networked_node(1).runtime("process", model::RuntimeType::Process));
  driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  ASSERT_EQ(told_address("n1", key_of("web")), "10.0.0.2");
  driver.apply(
      {a_service("web").version("2").process(), a_deployment("d", {a_run("web").version("2")})});
  ASSERT_EQ(driver.status_of(key_of("web")), "active");
  EXPECT_THAT(owners_on("n1"), IsEmpty());
}

TEST_F(Network, AnAddressStaysThroughUpdatesMovesAndRestartsOfTheController) {
  join_nodes(2);
  driver.apply({a_service("web"), a_deployment("d", {a_run("web").on("n1")})});
  ASSERT_EQ(told_address("n1", key_of("web")), "10.0.0.2");
  driver.apply(
      {a_service("web").version("2"), a_deployment("d", {a_run("web").version("2").on("n1")})});
  EXPECT_EQ(told_address("n1", key_of("web")), "10.0.0.2");
  driver.apply({a_deployment("d", {a_run("web").version("2").on("n2")})});
  EXPECT_EQ(told_address("n2", key_of("web")), "10.0.0.2");
  driver.advance(2s);
  EXPECT_THAT(owners_on("n1"), IsEmpty());
  const int starts = driver.agent("n2").starts.at(key_of("web"));
  driver.restart();
  driver.connect("n1");
  driver.connect("n2");
  EXPECT_EQ(told_address("n2", key_of("web")), "10.0.0.2");
  EXPECT_EQ(driver.agent("n2").starts.at(key_of("web")), starts);
}

TEST_F(Network, AnAddressIsGivenBackWhenNothingRunsAnyMore) {
  join_nodes(1);
  driver.agent("n1").stops_slowly = true;
  driver.apply({a_service("web"), a_service("db"), a_deployment("d", {a_run("web")}),
                a_deployment("e", {a_run("db")})});
  const auto address = driver.record(key_of("web")).address;
  driver.erase("Deployment", "d");
  EXPECT_EQ(driver.record(key_of("web")).address, address);
  EXPECT_THAT(names_on("n1"), ElementsAre("10.0.0.2: 0.default.db default.db db"));
  driver.agent("n1").drop(key_of("web"));
  driver.report_changes("n1");
  EXPECT_EQ(driver.record(key_of("web")).address, std::nullopt);
  ASSERT_EQ(driver.durable().freed_addresses.size(), 1U);
  EXPECT_EQ(driver.durable().freed_addresses.begin()->second.address, address);
}

TEST_F(Network, AnAddressIsNotGivenBackWhileALostNodeMayRunItsHolder) {
  join_nodes(2);
  driver.apply({a_service("web"), a_deployment("d", {a_run("web").on("n1")})});
  driver.agent("n1").answers = false;
  driver.disconnect("n1");
  driver.erase("Deployment", "d");
  driver.advance(120s);
  EXPECT_NE(driver.record(key_of("web")).address, std::nullopt);
  driver.restart();
  driver.connect("n2");
  driver.advance(120s);
  EXPECT_NE(driver.record(key_of("web")).address, std::nullopt);
  driver.forget("n1");
  EXPECT_EQ(driver.record(key_of("web")).address, std::nullopt);
  EXPECT_TRUE(driver.durable().networks.empty());
}

// Its agent restarted while a runtime hung, and so did the controller: nobody can say what runs
// there.
TEST_F(Network, AnAddressIsNotGivenBackWhileAnUntoldRuntimeMayRunItsHolder) {
  join_nodes(2);
  driver.agent("n1").stops_slowly = true;
  driver.apply({a_service("web"), a_deployment("d", {a_run("web").on("n1")})});
  driver.erase("Deployment", "d");
  driver.restart();
  driver.connect("n2");
  driver.connect_silently("n1");
  model::Report report = driver.agent("n1").full();
  report.untold_runtimes = {report.instances.at(0).runtime};
  report.instances.clear();
  driver.report("n1", report);
  driver.advance(10s);
  EXPECT_NE(driver.record(key_of("web")).address, std::nullopt);
  driver.agent("n1").drop(key_of("web"));
  driver.report_fully("n1");
  EXPECT_EQ(driver.record(key_of("web")).address, std::nullopt);
}

Config a_forgetful_config() {
  Config config = a_config_of_one_network();
  config.cache_ttl = 1min;
  return config;
}

// "web" has run on n1 and was erased there; n2 has not been heard of since a restart.
class ErasedTooEarly : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const int i : {1, 2}) unit.join("n" + std::to_string(i), a_networked_node(i));
    unit.apply({a_service("web"), a_service("db"), a_deployment("d", {a_run("web").on("n1")}),
                a_deployment("e", {a_run("db").on("n1")})});
    address = unit.record(key_of("web")).address;
    ASSERT_TRUE(address);
    unit.restart();
    unit.connect("n1");
    unit.advance(10s);
    unit.erase("Deployment", "d");
    unit.advance(2min);
    ASSERT_TRUE(unit.agent("n1").erased.contains(key_of("web")));
  }

  Driver unit{a_forgetful_config()};
  std::optional<model::Ipv4> address;
};

TEST_F(ErasedTooEarly, AnAddressIsFreedWhenAllNodesAreHeardOf) {
  unit.restart();
  unit.connect("n1");
  unit.connect("n2");
  unit.advance(10s);
  EXPECT_FALSE(unit.durable().instances.contains(key_of("web")));
  ASSERT_EQ(unit.durable().freed_addresses.size(), 1U);
  EXPECT_EQ(unit.durable().freed_addresses.begin()->second.address, *address);
}

TEST_F(ErasedTooEarly, AnAddressIsKeptByWhatIsPlacedAgainInTheStepThatErasesIt) {
  unit.apply({a_deployment("d", {a_run("web").on("n1")})});
  ASSERT_EQ(unit.status_of(key_of("web")), "failed(BeingErased)");
  unit.connect("n2");
  EXPECT_EQ(unit.status_of(key_of("web")), "active");
  EXPECT_EQ(unit.record(key_of("web")).address, address);
}

TEST_F(Network, AddressesAreTakenFirstByThoseWhoExposePorts) {
  join_nodes(1);
  driver.apply(
      {a_service("a"), a_service("b").port(80), a_deployment("d", {a_run("a"), a_run("b")})});
  EXPECT_EQ(told_address("n1", key_of("b")), "10.0.0.2");
  EXPECT_EQ(told_address("n1", key_of("a")), "10.0.0.3");
}

TEST_F(Network, NodesThatShareANetworkHearOfEachOther) {
  join_nodes(3);
  driver.apply({a_service("web"), a_deployment("d", {a_run("web").on("n1")})});
  EXPECT_THAT(peers_of("n1", "default"), IsEmpty());
  driver.apply({a_service("db"), a_deployment("e", {a_run("db").on("n2")})});
  EXPECT_THAT(peers_of("n1", "default"), ElementsAre("192.168.0.2"));
  EXPECT_THAT(peers_of("n2", "default"), ElementsAre("192.168.0.1"));
  EXPECT_EQ(names_on("n1"), names_on("n2"));
  EXPECT_EQ(names_on("n1").size(), 2U);
  EXPECT_THAT(driver.commands_to("n3"), IsEmpty());
  driver.become("n2", a_networked_node(7));
  EXPECT_THAT(peers_of("n1", "default"), ElementsAre("192.168.0.7"));
  driver.erase("Deployment", "e");
  EXPECT_THAT(peers_of("n1", "default"), IsEmpty());
  EXPECT_EQ(names_on("n1").size(), 1U);
}

TEST_F(Network, AStatusCausesNoCommand) {
  join_nodes(2);
  driver.apply({a_service("web"), a_deployment("d", {a_run("web").times(2)})});
  driver.set("n1", key_of("web"), model::InstanceState::Failed, {"Crashed", ""});
  EXPECT_THAT(driver.effects().commands, IsEmpty());
}

TEST_F(Network, AnAllowedConnectionOpensAWayIntoTheOtherNetwork) {
  join_nodes(2);
  driver.apply({a_service("web").owner("acme").may_reach("broker", 1883),
                a_deployment("d", {a_run("web").on("n1")})});
  EXPECT_THAT(flows_on("n1"), IsEmpty());
  driver.apply({a_service("broker").owner("beta").port(1883),
                a_deployment("e", {a_run("broker").on("n2")})});
  EXPECT_THAT(flows_on("n1"), ElementsAre("10.0.0.2 -> 10.0.0.10:1883"));
  EXPECT_THAT(owners_on("n1"), ElementsAre("acme", "beta"));
  EXPECT_THAT(owners_on("n2"), ElementsAre("beta"));
  EXPECT_THAT(peers_of("n2", "beta"), ElementsAre("192.168.0.1"));
  EXPECT_THAT(flows_on("n2"), IsEmpty());
  driver.erase("Deployment", "e");
  EXPECT_THAT(flows_on("n1"), IsEmpty());
  EXPECT_THAT(owners_on("n1"), ElementsAre("acme"));
}

TEST_F(Network, ThoseOfOneOwnerNeedNoRule) {
  join_nodes(1);
  driver.apply({a_service("web").may_reach("broker", 1883), a_service("broker"),
                a_deployment("d", {a_run("web"), a_run("broker")})});
  EXPECT_THAT(flows_on("n1"), IsEmpty());
  EXPECT_FALSE(driver.noted(NoteKind::ConnectionNotAllowed));
}

TEST_F(Network, APortThatIsNotExposedIsNotReachedAndThatIsSaidOnce) {
  join_nodes(1);
  driver.apply({a_service("web").owner("acme").may_reach("broker", 1883),
                a_service("broker").owner("beta").port(80),
                a_deployment("d", {a_run("web"), a_run("broker")})});
  EXPECT_THAT(flows_on("n1"), IsEmpty());
  EXPECT_TRUE(driver.noted(NoteKind::ConnectionNotAllowed, "instance/web/default/0"));
  driver.apply({a_deployment("d", {a_run("web"), a_run("broker").times(2)})});
  EXPECT_FALSE(driver.noted(NoteKind::ConnectionNotAllowed));
  driver.apply({a_service("broker").owner("beta").port(1883)});
  EXPECT_EQ(flows_on("n1").size(), 2U);
}

TEST_F(Network, ANameIsKeptByTheItemThatHadItFirst) {
  join_nodes(1);
  driver.apply({a_service("web").host("shop.local"), a_deployment("d", {a_run("web")})});
  const CallId call = driver.apply({a_service("till").host("shop.local"), a_service("quiet"),
                                    a_deployment("e", {a_run("till"), a_run("quiet")})});
  EXPECT_EQ(driver.status_of(key_of("till")), "failed(NameTaken)");
  EXPECT_EQ(driver.status_of(key_of("quiet")), "active");
  EXPECT_FALSE(driver.runs("n1", key_of("till")));
  const auto accepted = driver.reply_to<Accepted>(call);
  ASSERT_TRUE(accepted);
  EXPECT_EQ(accepted->refused.at(key_of("till")).reason, "NameTaken");
  driver.advance(2s);
  EXPECT_TRUE(driver.reply_to<Finished>(call)) << "the call does not wait for it";
  driver.restart();
  driver.connect("n1");
  EXPECT_EQ(driver.status_of(key_of("till")), "failed(NameTaken)");
  driver.erase("Deployment", "d");
  EXPECT_EQ(driver.status_of(key_of("till")), "active");
}

TEST_F(Network, IdsThatDifferOnlyInWhatDnsDoesNotKnowDoNotShareAName) {
  join_nodes(1);
  driver.apply({a_service("my.app"), a_deployment("d", {a_run("my.app")})});
  driver.apply({a_service("My_App"), a_deployment("e", {a_run("My_App")})});
  EXPECT_EQ(driver.status_of(key_of("my.app")), "active");
  EXPECT_EQ(driver.status_of(key_of("My_App")), "failed(NameTaken)");
}

TEST_F(Network, WhoTakesOnANameOfAnotherIsStopped) {
  join_nodes(1);
  driver.apply({a_service("web").host("shop.local"), a_service("till"),
                a_deployment("d", {a_run("web"), a_run("till")})});
  driver.apply({a_service("till").host("shop.local")});
  EXPECT_EQ(driver.status_of(key_of("till")), "failed(NameTaken)");
  EXPECT_FALSE(driver.runs("n1", key_of("till")));
  EXPECT_EQ(driver.record(key_of("till")).address, std::nullopt);
  driver.apply({a_service("till")});
  EXPECT_EQ(driver.status_of(key_of("till")), "active");
}

TEST_F(Network, WhenAddressesRunOutOnlyThoseFailThatLackOneAndGetItWhenOneIsFree) {
  join_nodes(1);
  driver.apply({a_service("web"), a_deployment("d", {a_run("web").times(5)})});
  driver.apply({a_service("db"), a_deployment("e", {a_run("db")})});
  EXPECT_EQ(driver.status_of(key_of("web", 4)), "active");
  EXPECT_EQ(driver.status_of(key_of("db")), "failed(NoFreeAddress)");
  driver.apply({a_deployment("d", {a_run("web").times(4)})});
  EXPECT_EQ(driver.status_of(key_of("db")), "active");
  EXPECT_EQ(told_address("n1", key_of("db")), "10.0.0.6");
}

TEST_F(Network, WhenSubnetsRunOutOnlyOwnersWithoutOneFail) {
  join_nodes(1);
  driver.apply({a_service("a").owner("acme"), a_service("b").owner("beta"),
                a_service("c").owner("gamma"), a_deployment("d", {a_run("a"), a_run("b")}),
                a_deployment("e", {a_run("c")})});
  EXPECT_EQ(driver.status_of(key_of("a")), "active");
  EXPECT_EQ(driver.status_of(key_of("c")), "failed(NoFreeAddress)");
  driver.erase("Deployment", "d");
  EXPECT_EQ(driver.status_of(key_of("c")), "active");
}

TEST_F(Network, AnItemThatChangesItsOwnerStopsBeforeItGoesToTheOtherNetwork) {
  join_nodes(1);
  driver.agent("n1").stops_slowly = true;
  driver.apply({a_service("web").owner("acme"), a_deployment("d", {a_run("web")})});
  driver.apply({a_service("web").owner("beta")});
  EXPECT_EQ(told_address("n1", key_of("web")), "");
  driver.agent("n1").stops_slowly = false;
  driver.agent("n1").drop(key_of("web"));
  driver.report_changes("n1");
  EXPECT_EQ(driver.status_of(key_of("web")), "active");
  EXPECT_THAT(owners_on("n1"), ElementsAre("beta"));
  EXPECT_FALSE(driver.durable().networks.contains(model::OwnerId{"acme"}));
}

TEST_F(Network, ANodeThatIsForgottenGivesItsAddressesBack) {
  join_nodes(2);
  driver.apply({a_service("web"), a_service("db"),
                a_deployment("d", {a_run("web").on("n1"), a_run("db").on("n2")})});
  ASSERT_EQ(driver.durable().node_addresses.size(), 2U);
  driver.disconnect("n2");
  driver.forget("n2");
  EXPECT_EQ(driver.durable().node_addresses.size(), 1U);
  EXPECT_THAT(peers_of("n1", "default"), IsEmpty());
}

}  // namespace
}  // namespace berth::control
