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

}  // namespace
}  // namespace berth::agent
