#include <gtest/gtest.h>

#include "agent/driver.h"

// What the agent does about the networks that it is told of.
namespace berth::agent {
namespace {

model::NodeNetwork a_network(const std::string& owner) {
  model::ProviderNetwork network;
  network.owner = model::OwnerId{owner};
  return {.networks = {network}, .names = {}, .flows = {}};
}

CommandReceived with_network(CommandReceived command, const std::string& owner) {
  command.command.network = a_network(owner);
  return command;
}

TEST(Network, IsDurableAndAppliedBeforeWhatIsStartedByTheSameCommand) {
  Driver driver = a_driver();
  driver.tell(with_network(a_full_command(1, {a_spec("web")}), "acme"));
  EXPECT_EQ(driver.durable().network, a_network("acme"));
  const auto& actions = driver.effects().actions;
  ASSERT_EQ(actions.size(), 2U);
  EXPECT_EQ(std::get<ApplyNetwork>(actions[0]).network, a_network("acme"));
  EXPECT_TRUE(std::holds_alternative<Start>(actions[1]));
}

TEST(Network, StaysAsItIsWhenACommandDoesNotSpeakOfIt) {
  Driver driver = a_driver();
  driver.tell(with_network(a_full_command(1, {}), "acme"));
  driver.tell(a_partial_command(2, {a_spec("web")}));
  EXPECT_TRUE(driver.actions<ApplyNetwork>().empty());
  EXPECT_EQ(driver.durable().network, a_network("acme"));
}

TEST(Network, IsNotWrittenAgainWhenItIsTheSame) {
  Driver driver = a_driver();
  driver.tell(with_network(a_full_command(1, {}), "acme"));
  driver.tell(with_network(a_partial_command(2, {}), "acme"));
  EXPECT_EQ(driver.effects().writes, std::vector<Write>{WriteActed{number(2)}});
  EXPECT_EQ(driver.actions<ApplyNetwork>().size(), 1U) << "it may have been damaged";
}

TEST(Network, IsAppliedAfterARestartBeforeAnythingElseIsDone) {
  Driver driver = a_driver();
  driver.tell(with_network(a_full_command(1, {a_spec("web")}), "acme"));
  driver.restart();
  driver.tell(a_node());
  ASSERT_FALSE(driver.effects().actions.empty());
  EXPECT_TRUE(std::holds_alternative<ApplyNetwork>(driver.effects().actions[0]));
  driver.tell(a_list("crun"));
  EXPECT_TRUE(driver.actions<ApplyNetwork>().empty());
  EXPECT_EQ(driver.started_items(), std::vector<std::string>{"web"});
}

TEST(Network, OfACommandThatIsIgnoredIsIgnored) {
  Driver driver = a_driver();
  driver.tell(with_network(a_full_command(5, {}), "acme"));
  driver.tell(with_network(a_full_command(4, {}), "beta"));
  EXPECT_TRUE(driver.effects().actions.empty());
  EXPECT_EQ(driver.durable().network, a_network("acme"));
}

// An agent whose store was older has started what was over long ago.
TEST(Network, GivesAnAddressToAnotherWhenWhatHadItHasEnded) {
  Driver driver = a_driver();
  driver.tell(with_network(a_full_command(1, {a_spec("old").networked("acme")}), "acme"));
  driver.tell(Started{key_of("old"), {number(1), 0}});
  driver.tell(with_network(a_full_command(2, {a_spec("new").networked("acme")}), "acme"));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
  EXPECT_EQ(driver.started_items(), std::vector<std::string>{});
  driver.tell(Exited{key_of("old"), {number(1), 0}, 143, {}});
  EXPECT_EQ(driver.started_items(), std::vector<std::string>{"new"});
}

// Whatever the control plane thinks that the node has been told.
TEST(Network, IsWaitedForByWhatIsInIt) {
  Driver driver = a_driver();
  driver.tell(with_network(a_full_command(1, {a_spec("web").networked("acme")}), "beta"));
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_EQ(driver.status("web").problem.reason, "NetworkUnknown");
  driver.tell(with_network(a_partial_command(2, {}), "acme"));
  EXPECT_EQ(driver.started_items(), std::vector<std::string>{"web"});
}

// An agent whose store is an older one: it knows "known", which is in acme's network.
Driver a_driver_with_an_older_store() {
  Restored restored;
  restored.acted = number(2);
  restored.network = a_network("acme");
  const model::InstanceSpec known = a_spec("known").networked("acme");
  restored.wanted[known.key] = {known, number(2), false, std::nullopt};
  restored.in_doubt = true;
  return Driver(a_config(), restored);
}

TEST(NetworkInDoubt, IsLeftAsItIsForWhatRunsWithAnother) {
  Driver driver = a_driver_with_an_older_store();
  const RunId run{number(9), 0};
  driver.tell(Connected{1}, a_node(),
              a_list("crun", {a_found(a_spec("newer").networked("beta"), run)}));
  driver.wait(60s);
  EXPECT_TRUE(driver.actions<ApplyNetwork>().empty());
  EXPECT_EQ(driver.status("known").problem.reason, "NetworkUnknown");
  driver.tell(Exited{key_of("newer"), run, 1});
  EXPECT_EQ(driver.actions<ApplyNetwork>().size(), 1U) << "nobody needs what was there before";
  EXPECT_EQ(driver.started_items(), std::vector<std::string>{"known"});
  driver.wait(10s);
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_EQ(driver.status("newer").problem.reason, "NetworkUnknown");
}

TEST(NetworkInDoubt, IsMadeAgainForWhatIsStartedWhenNobodyHasSpoken) {
  Driver driver = a_driver_with_an_older_store();
  driver.tell(a_node(), a_list("crun"));
  EXPECT_TRUE(driver.actions<ApplyNetwork>().empty());
  driver.wait(15s);
  ASSERT_EQ(driver.effects().actions.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<ApplyNetwork>(driver.effects().actions[0]));
  EXPECT_TRUE(std::holds_alternative<Start>(driver.effects().actions[1]));
}

TEST(NetworkInDoubt, IsWhatAFullCommandSays) {
  Driver driver = a_driver_with_an_older_store();
  driver.tell(Connected{1}, a_node(), a_list("crun"));
  driver.tell(with_network(a_full_command(9, {a_spec("web").networked("beta")}), "beta"));
  ASSERT_EQ(driver.actions<ApplyNetwork>().size(), 1U);
  EXPECT_EQ(driver.actions<ApplyNetwork>()[0].network, a_network("beta"));
  EXPECT_EQ(driver.started_items(), std::vector<std::string>{"web"});
}

// What a command says of networks and of what is in them is written at once: a store with only half
// of it was damaged, whether or not anybody could write that down.
TEST(NetworkInDoubt, BeginsWithAStoreThatWantsWhatIsInANetworkItDoesNotKnow) {
  Driver driver = a_driver();
  driver.tell(with_network(a_full_command(1, {a_spec("web").networked("acme")}), "acme"));
  Restored torn = driver.durable();
  torn.network.reset();
  driver = Driver(a_config(), torn);
  driver.tell(Connected{1}, a_node(), a_list("crun"));
  EXPECT_TRUE(driver.report().in_doubt);
  EXPECT_TRUE(driver.durable().in_doubt);
  driver.wait(60s);
  EXPECT_TRUE(driver.actions<Start>().empty());
  EXPECT_EQ(driver.status("web").problem.reason, "NetworkUnknown");
  driver.tell(with_network(a_full_command(2, {a_spec("web").networked("acme")}), "acme"));
  EXPECT_EQ(driver.actions<ApplyNetwork>().size(), 1U);
  EXPECT_EQ(driver.started_items(), std::vector<std::string>{"web"});
}

TEST(NetworkInDoubt, IsWhatAStoreIsNotThatKnowsAllNetworksOfWhatItWants) {
  Driver driver = a_driver();
  driver.tell(with_network(a_full_command(1, {a_spec("web").networked("acme")}), "acme"));
  driver.restart();
  driver.tell(Connected{1}, a_node(), a_list("crun"));
  EXPECT_FALSE(driver.report().in_doubt);
  EXPECT_EQ(driver.started_items(), std::vector<std::string>{"web"});
}

}  // namespace
}  // namespace berth::agent
