#include "link/agent_end.h"

#include <gtest/gtest.h>

#include <thread>

#include "link/testing/unit.h"
#include "link/testing/valve.h"

namespace berth::link {
namespace {

using namespace std::chrono_literals;
using namespace testing;
using trust::Role;

TEST(AgentEnd, TalksBothWays) {
  const Unit unit;
  LinkServer server(unit);
  LinkAgent agent(unit, server.address());
  ASSERT_TRUE(agent.log().wait_for("connected"));
  ASSERT_TRUE(server.log().wait_for("connected n1"));
  agent.report(1);
  agent.report(2);
  ASSERT_TRUE(server.log().wait_for("n1 reported 2"));
  server.end().send(server.last_connection(), a_command(1));
  server.end().send(server.last_connection(), a_command(2));
  ASSERT_TRUE(agent.log().wait_for("commanded 2"));
  EXPECT_EQ(agent.log().lines(),
            (std::vector<std::string>{"connected", "commanded 1", "commanded 2"}));
  EXPECT_EQ(server.log().lines(),
            (std::vector<std::string>{"connected n1", "n1 reported 1", "n1 reported 2"}));
}

TEST(AgentEnd, LargeMessagesPass) {
  const Unit unit;
  LinkServer server(unit);
  LinkAgent agent(unit, server.address());
  ASSERT_TRUE(agent.log().wait_for("connected"));
  ASSERT_TRUE(server.log().wait_for("connected n1"));
  agent.report(1, 7 << 20);
  ASSERT_TRUE(server.log().wait_for("n1 reported 1"));
  server.end().send(server.last_connection(), a_command(1, 7 << 20));
  EXPECT_TRUE(agent.log().wait_for("commanded 1"));
}

TEST(AgentEnd, ComesBackWhenTheServerDoes) {
  const Unit unit;
  auto server = std::make_unique<LinkServer>(unit);
  const int port = server->port();
  LinkAgent agent(unit, server->address());
  ASSERT_TRUE(agent.log().wait_for("connected"));
  server.reset();
  ASSERT_TRUE(agent.log().wait_for("disconnected"));
  ASSERT_TRUE(agent.log().wait_for("failed", 2));
  agent.report(1);  // to nobody
  server = std::make_unique<LinkServer>(unit, LinkServer::Options{.port = port});
  ASSERT_TRUE(agent.log().wait_for("connected", 2));
  agent.report(2);
  EXPECT_TRUE(server->log().wait_for("n1 reported 2"));
  EXPECT_EQ(server->log().count("n1 reported 1"), 0U);
}

TEST(AgentEnd, SaysWhyItIsRefused) {
  const Unit unit;
  LinkServer server(unit);
  AgentEndConfig config = agent_config(unit, server.address(), "n1");
  config.node = "n2";
  LinkAgent agent(config);
  EXPECT_TRUE(agent.reasons().wait_for("Hello names another node than the certificate"));
  EXPECT_EQ(agent.log().count("connected"), 0U);
}

TEST(AgentEnd, TrustsNoServerOfAnotherAuthority) {
  const Unit unit;
  const Unit other;
  LinkServer server(other);
  LinkAgent agent(unit, server.address());
  EXPECT_TRUE(agent.log().wait_for("failed"));
  EXPECT_EQ(agent.log().count("connected"), 0U);
  EXPECT_TRUE(server.log().lines().empty());
}

TEST(AgentEnd, UsesANewIdentityForTheNextConnection) {
  const Unit unit;
  const Unit other;
  LinkServer server(unit);
  AgentEndConfig config = agent_config(unit, server.address(), "n1");
  config.identity = other.identity(Role::Node, "n1");
  LinkAgent agent(config);
  ASSERT_TRUE(agent.log().wait_for("failed"));
  agent.end().set_identity(unit.identity(Role::Node, "n1"));
  EXPECT_TRUE(agent.log().wait_for("connected"));
}

TEST(AgentEnd, AServerUsesRenewedCredentialsWithoutARestart) {
  const Unit before;
  const Unit after;
  LinkServer server(before);
  LinkAgent agent(after, server.address());
  ASSERT_TRUE(agent.log().wait_for("failed"));
  after.save_server(before.directory());
  EXPECT_TRUE(agent.log().wait_for("connected"));
}

TEST(AgentEnd, FindsADeadPeer) {
  const Unit unit;
  LinkServer server(unit);
  Valve valve(server.port());
  LinkAgent agent(unit, valve.address());
  ASSERT_TRUE(agent.log().wait_for("connected"));
  valve.shut();
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(agent.log().wait_for("disconnected"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

TEST(AgentEnd, AFullQueueBreaksTheConnection) {
  const Unit unit;
  LinkServer server(unit);
  Valve valve(server.port());
  AgentEndConfig config = agent_config(unit, valve.address(), "n1");
  config.queue_messages_max = 4;
  LinkAgent agent(config);
  ASSERT_TRUE(agent.log().wait_for("connected"));
  valve.shut();
  for (std::uint64_t i = 0; i < 100; ++i) agent.report(i, 1 << 20);
  EXPECT_TRUE(agent.log().wait_for("disconnected"));
}

TEST(AgentEnd, IsNotAcceptedForEver) {
  const Unit unit;
  LinkServer server(unit);
  Valve valve(server.port());
  valve.shut();
  AgentEndConfig config = agent_config(unit, valve.address(), "n1");
  config.accept_timeout = 200ms;
  LinkAgent agent(config);
  EXPECT_TRUE(agent.log().wait_for("failed"));
}

TEST(AgentEnd, CanBeDestroyedAtAnyMoment) {
  const Unit unit;
  LinkServer server(unit);
  const AgentEndConfig config = agent_config(unit, server.address(), "n1");
  for (int i = 0; i < 40; ++i) {
    LinkAgent agent(config);
    if (i % 4 == 0) continue;
    if (i % 4 <= 2) {
      ASSERT_TRUE(agent.log().wait_for("connected"));
    }
    if (i % 4 == 2) {
      for (std::uint64_t number = 0; number < 20; ++number) agent.report(number, 1 << 16);
    }
    if (i % 4 == 3) std::this_thread::sleep_for(std::chrono::milliseconds(i));
  }
  AgentEndConfig to_nobody = config;
  to_nobody.server = "127.0.0.1:1";
  LinkAgent agent(to_nobody);
  EXPECT_TRUE(agent.log().wait_for("failed"));
}

}  // namespace
}  // namespace berth::link
