#include "sim/network.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace berth::sim {
namespace {

const model::NodeId kNode("n1");

class NetworkTest : public ::testing::Test {
 protected:
  NetworkTest() {
    network_.add_node(kNode);
    network_.controller_started();
    network_.agent_started(kNode);
  }

  void run(Duration duration) {
    const Time until = stage_.now() + duration;
    while (stage_.queue.run_next(until)) {
    }
  }

  template <class Kind, class Event>
  static std::vector<Kind> only(const std::vector<Event>& events) {
    std::vector<Kind> found;
    for (const Event& event : events) {
      if (const auto* one = std::get_if<Kind>(&event)) found.push_back(*one);
    }
    return found;
  }

  void report(std::uint64_t revision) {
    model::Report report;
    report.revision = revision;
    network_.send(kNode, report);
  }

  std::vector<std::uint64_t> revisions() const {
    std::vector<std::uint64_t> result;
    for (const auto& event : only<control::NodeReported>(at_controller_)) {
      result.push_back(event.report.revision);
    }
    return result;
  }

  Stage stage_{.queue = {}, .trace = Trace({}), .counts = {}};
  std::vector<control::Event> at_controller_;
  std::vector<agent::Event> at_agent_;
  Network network_{
      stage_,
      Random(1),
      {.controller = [this](control::Event e) { at_controller_.push_back(e); },
       .agent = [this](const model::NodeId&, agent::Event e) { at_agent_.push_back(e); }}};
};

TEST_F(NetworkTest, CarriesMessagesInOrderWhenNothingIsWrong) {
  for (std::uint64_t i = 1; i <= 50; ++i) report(i);
  run(1s);
  const auto seen = revisions();
  EXPECT_EQ(seen.size(), 50U);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
}

TEST_F(NetworkTest, LosesAndRepeats) {
  network_.set_weather({.loss = 300'000, .duplicate = 300'000});
  for (std::uint64_t i = 1; i <= 200; ++i) report(i);
  run(10s);
  EXPECT_GT(stage_.counts.lost, 0U);
  EXPECT_GT(stage_.counts.duplicated, 0U);
  EXPECT_EQ(revisions().size(), 200 - stage_.counts.lost + stage_.counts.duplicated);
}

TEST_F(NetworkTest, ACutThatLastsBreaksTheConnectionAndAMendedOneComesBackUnderANewId) {
  network_.cut(kNode, Cut::Both);
  run(30s);
  EXPECT_FALSE(network_.connected(kNode));
  EXPECT_EQ(only<agent::Disconnected>(at_agent_).size(), 1U);
  EXPECT_EQ(only<control::NodeDisconnected>(at_controller_).size(), 1U);
  network_.mend(kNode);
  run(5s);
  EXPECT_TRUE(network_.connected(kNode));
  EXPECT_GT(only<agent::Connected>(at_agent_).back().connection, 1U);
}

TEST_F(NetworkTest, NothingComesThroughACutDirection) {
  network_.cut(kNode, Cut::ToController);
  report(1);
  run(1s);
  EXPECT_TRUE(revisions().empty());
}

TEST_F(NetworkTest, ACommandOfAnOldConnectionNeverReachesTheAgent) {
  network_.reset(kNode);
  run(15s);
  network_.send({kNode, 1, {}});
  run(1s);
  EXPECT_TRUE(only<agent::CommandReceived>(at_agent_).empty());
}

TEST_F(NetworkTest, CarriesWhatIsSaidOfPoolsBothWays) {
  for (std::uint64_t i = 1; i <= 50; ++i) {
    network_.send_pool({kNode, 1, {.epoch = 1, .number = i, .orders = {}}});
  }
  model::Report report;
  report.pool = model::PoolReport{.acted = 50, .instances = {}, .sessions = {}};
  network_.send(kNode, report);
  run(1s);
  const auto received = only<agent::PoolCommandReceived>(at_agent_);
  ASSERT_EQ(received.size(), 50U);
  for (std::uint64_t i = 0; i < 50; ++i) EXPECT_EQ(received[i].command.number, i + 1);
  EXPECT_EQ(only<control::NodeReported>(at_controller_).at(0).report.pool, report.pool);
}

TEST_F(NetworkTest, OfTwoMachinesWithOneIdentityTheOneThatConnectsLastReplacesTheOther) {
  const model::NodeId clone("n1-clone");
  network_.add_clone(kNode, clone);
  network_.agent_started(clone);
  EXPECT_EQ(only<control::NodeConnected>(at_controller_).back().node, kNode);
  EXPECT_EQ(only<control::NodeDisconnected>(at_controller_).back().connection, 1U);
  EXPECT_FALSE(network_.connected(kNode));
  network_.send({kNode, 2, {}});
  run(50ms);
  EXPECT_EQ(only<agent::CommandReceived>(at_agent_).size(), 1U) << "the one that is the node now";
  run(5s);
  EXPECT_GT(only<control::NodeConnected>(at_controller_).size(), 2U) << "they take turns";
  network_.agent_died(clone);
  run(5s);
  EXPECT_TRUE(network_.connected(kNode));
}

}  // namespace
}  // namespace berth::sim
