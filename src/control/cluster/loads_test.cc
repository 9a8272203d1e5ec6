#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

model::NodeConfig thresholds(const model::ThresholdRule& cpu) {
  model::NodeConfig config;
  config.name = "t";
  config.thresholds.emplace();
  config.thresholds->cpu = cpu;
  return config;
}

// n1 runs "a", has a rule for cpu (75 %, 85 %, 60 s) and nobody to take anything over.
class Thresholds : public testing::Test {
 protected:
  explicit Thresholds(const model::ThresholdRule& rule = {}) {
    driver.join("n1");
    driver.apply({a_service("a"), a_deployment("d", {a_run("a")}), thresholds(rule)});
  }

  void use(std::int64_t cpu, const std::string& node = "n1") {
    driver.agent(node).usage = model::Usage{Dmips{cpu}, Bytes{}};
    driver.heartbeat(node);
  }
  LoadState state() const { return load().state; }
  const ResourceLoad& load() const { return driver.controller().load_of(node_id("n1")).cpu; }

  Driver driver;
};

TEST_F(Thresholds, ANodeIsOverloadedExactlyWhenItWasAboveMaxForTheTimeout) {
  use(851);
  EXPECT_EQ(state(), LoadState::Above);
  const Time since = driver.now();
  driver.advance(60s - 1us);
  EXPECT_EQ(state(), LoadState::Above);
  EXPECT_EQ(load().since, since);
  driver.advance(1us);
  EXPECT_EQ(state(), LoadState::Overloaded);
  EXPECT_EQ(load().since, driver.now());
  EXPECT_TRUE(driver.noted(NoteKind::NodeOverloaded, "node/n1"));
}

TEST_F(Thresholds, AtMaxItIsNotAbove) {
  use(850);
  EXPECT_EQ(state(), LoadState::Normal);
}

TEST_F(Thresholds, ASpikeDoesNothingAndTheTimeStartsAnew) {
  use(900);
  driver.advance(59s);
  use(850);
  EXPECT_EQ(state(), LoadState::Normal);
  use(900);
  driver.advance(59s);
  EXPECT_EQ(state(), LoadState::Above);
}

TEST_F(Thresholds, ItIsRelievedExactlyWhenItWasNotAboveMinForTheTimeout) {
  use(900);
  driver.advance(60s);
  const Time since = driver.now();
  use(751);
  EXPECT_EQ(state(), LoadState::Overloaded) << "below max, but not at min";
  use(750);
  EXPECT_EQ(state(), LoadState::Below);
  EXPECT_EQ(load().overloaded_since, since);
  driver.advance(60s - 1us);
  EXPECT_EQ(state(), LoadState::Below);
  driver.advance(1us);
  EXPECT_EQ(state(), LoadState::Normal);
  EXPECT_TRUE(driver.noted(NoteKind::NodeRelieved, "node/n1"));
}

TEST_F(Thresholds, ADropDoesNotRelieve) {
  use(900);
  driver.advance(60s);
  const Time since = driver.now();
  use(100);
  driver.advance(59s);
  use(760);
  EXPECT_EQ(state(), LoadState::Overloaded);
  EXPECT_EQ(load().since, since);
}

TEST_F(Thresholds, OfASilentNodeNothingIsLearnt) {
  use(900);
  driver.advance(30s);
  driver.disconnect("n1");
  driver.advance(30s);
  EXPECT_EQ(state(), LoadState::Normal);
  driver.connect("n1");
  EXPECT_EQ(state(), LoadState::Above);
  driver.advance(59s);
  EXPECT_EQ(state(), LoadState::Above);
}

TEST_F(Thresholds, ARuleThatIsGoneAndANewOneCountAtOnce) {
  use(900);
  driver.advance(60s);
  driver.erase("NodeConfig", "t");
  EXPECT_EQ(state(), LoadState::Normal);
  driver.apply({thresholds({.min = 80, .max = 95, .timeout = 60s})});
  EXPECT_EQ(state(), LoadState::Normal);
  driver.apply({thresholds({.min = 80, .max = 80, .timeout = 60s})});
  EXPECT_EQ(state(), LoadState::Above);
}

class AtOnce : public Thresholds {
 protected:
  AtOnce() : Thresholds({.min = 80, .max = 80, .timeout = 0s}) {}
};

TEST_F(AtOnce, WithoutATimeoutAndARangeEveryReportCounts) {
  use(801);
  EXPECT_EQ(state(), LoadState::Overloaded);
  use(800);
  EXPECT_EQ(state(), LoadState::Normal);
  use(801);
  EXPECT_EQ(state(), LoadState::Overloaded);
  driver.advance(10s);
  EXPECT_EQ(state(), LoadState::Overloaded);
}

// --- Rebalancing -------------------------------------------------------------------------------

// n1 runs "a" and "b", n2 is empty; the agents measure.
class Overload : public testing::Test {
 protected:
  Overload() {
    driver.join("n1");
    driver.apply({a_service("a"), a_service("b"), a_deployment("d", {a_run("a"), a_run("b")}),
                  thresholds({})});
    driver.join("n2");
  }

  // What the instances on a node use is what the node uses.
  void measure(const std::string& node, const std::map<std::string, std::int64_t>& cpu) {
    model::Usage total;
    FakeAgent& agent = driver.agent(node);
    for (const auto& [item, used] : cpu) {
      const model::Usage usage{Dmips{used}, Bytes{}};
      if (!agent.statuses.contains(key_of(item))) continue;
      agent.statuses.at(key_of(item)).usage = usage;
      agent.set(key_of(item), agent.statuses.at(key_of(item)).state);
      total = total + usage;
    }
    agent.usage = total;
    driver.report_changes(node);
  }
  void measure_all() {
    for (const char* node : {"n1", "n2"}) measure(node, uses);
  }

  std::map<std::string, std::int64_t> uses{{"a", 700}, {"b", 200}};
  Driver driver;
};

TEST_F(Overload, MovesAsFewAsPossibleWhenTheTimeoutHasPassed) {
  measure_all();
  driver.advance(60s - 1us);
  EXPECT_EQ(driver.place_of(key_of("b")), "n1/crun");
  driver.advance(1us);
  EXPECT_EQ(driver.place_of(key_of("a")), "n1/crun");
  EXPECT_EQ(driver.place_of(key_of("b")), "n2/crun");
  EXPECT_TRUE(driver.noted(NoteKind::Rebalanced, "node/n1"));
  EXPECT_TRUE(driver.noted(NoteKind::Moved, "instance/b/default/0"));
  EXPECT_EQ(driver.agent("n2").starts[key_of("b")], 1);
}

TEST_F(Overload, IsOverWhenTheAveragesSaySo) {
  measure_all();
  driver.advance(60s);
  driver.advance(2s);
  measure_all();
  driver.advance(60s);
  EXPECT_TRUE(driver.noted(NoteKind::NodeRelieved, "node/n1"));
  driver.advance(30min);
  EXPECT_EQ(driver.agent("n1").starts[key_of("a")], 1);
  EXPECT_EQ(driver.agent("n2").starts[key_of("b")], 1);
}

TEST_F(Overload, IsAttemptedOnceAndAgainAfterTenTimeouts) {
  uses = {{"a", 900}, {"b", 0}};
  measure_all();
  driver.advance(60s);
  EXPECT_TRUE(driver.noted(NoteKind::NotRelieved, "node/n1"));
  EXPECT_EQ(driver.place_of(kA), "n1/crun");
  uses = {{"a", 700}, {"b", 200}};
  measure_all();
  driver.advance(600s - 1us);
  EXPECT_EQ(driver.place_of(key_of("b")), "n1/crun");
  driver.advance(1us);
  EXPECT_EQ(driver.place_of(key_of("b")), "n2/crun");
}

TEST_F(Overload, IsAttemptedAgainAtOnceWhenTheClusterHasChanged) {
  uses = {{"a", 900}, {"b", 0}};
  measure_all();
  driver.advance(60s);
  EXPECT_EQ(driver.place_of(kA), "n1/crun");
  driver.join("n3", a_node().cpu(4000));
  driver.advance(2s);
  EXPECT_EQ(driver.place_of(kA), "n3/crun");
}

TEST_F(Overload, OfAnotherResourceIsAnotherOverload) {
  model::NodeConfig both = thresholds({});
  both.thresholds->ram = model::ThresholdRule{};
  driver.apply({both});
  uses = {{"a", 900}, {"b", 0}};
  measure_all();
  driver.advance(60s);
  EXPECT_TRUE(driver.noted(NoteKind::NotRelieved, "node/n1"));
  driver.agent("n1").usage->ram = Bytes{1 << 30};
  driver.report_changes("n1");
  driver.advance(60s);
  EXPECT_TRUE(driver.noted(NoteKind::NotRelieved, "node/n1"));
}

TEST_F(Overload, WaitsWhileTheMovesOfTheLastRebalanceAreSettling) {
  driver.agent("n2").starts_slowly = true;
  measure_all();
  driver.advance(60s);
  EXPECT_EQ(driver.place_of(key_of("b")), "n2/crun");
  driver.join("n3", a_node().cpu(4000));
  driver.advance(290s);
  EXPECT_EQ(driver.place_of(kA), "n1/crun") << "n1 is still measured with b on it";

  driver.set("n2", key_of("b"), model::InstanceState::Active);
  driver.advance(2s);
  EXPECT_FALSE(driver.runs("n1", key_of("b")));
  driver.advance(60s - 1us);
  EXPECT_EQ(driver.place_of(kA), "n1/crun") << "the averages still tell of b";
}

TEST_F(Overload, DoesNotMoveAnythingToANodeThatWouldBeAboveItsMax) {
  uses = {{"a", 700}, {"b", 200}};
  driver.agent("n2").usage = model::Usage{Dmips{651}, Bytes{}};
  measure("n1", uses);
  driver.report_changes("n2");
  driver.advance(60s);
  EXPECT_EQ(driver.place_of(key_of("b")), "n1/crun");
  EXPECT_TRUE(driver.noted(NoteKind::NotRelieved, "node/n1"));
}

// --- The call ----------------------------------------------------------------------------------

class RebalanceByCall : public Overload {
 protected:
  CallId rebalance(RebalanceScope scope = RebalanceScope::Overloaded) {
    driver.tell({RebalanceCall{++call_, scope}});
    return call_;
  }
  template <class Answer>
  const Answer* answer(CallId call) const {
    for (const Reply& reply : driver.effects().replies) {
      if (reply.call != call) continue;
      if (const auto* found = std::get_if<Answer>(&reply.answer)) return found;
    }
    return nullptr;
  }

  CallId call_ = 1000;
};

TEST_F(RebalanceByCall, FindsNothingToDoWhereNothingIsOverloaded) {
  const CallId call = rebalance();
  ASSERT_NE(answer<Accepted>(call), nullptr);
  EXPECT_TRUE(answer<Accepted>(call)->relief.empty());
  ASSERT_NE(answer<Finished>(call), nullptr);
  EXPECT_TRUE(answer<Finished>(call)->statuses.empty());
}

TEST_F(RebalanceByCall, TriesAgainWhatWasTriedAndTellsWhy) {
  uses = {{"a", 900}, {"b", 0}};
  measure_all();
  driver.advance(70s);
  const CallId call = rebalance();
  ASSERT_NE(answer<Accepted>(call), nullptr);
  ASSERT_EQ(answer<Accepted>(call)->relief.size(), 1U);
  EXPECT_EQ(answer<Accepted>(call)->relief[0].unrelieved, placement::Unrelieved::NoOtherPlace);
  EXPECT_NE(answer<Finished>(call), nullptr);
}

TEST_F(RebalanceByCall, PlacesEverythingAnewIfAskedTo) {
  driver.apply({a_service("a").cpu(500), a_service("b").cpu(500)});
  EXPECT_EQ(driver.place_of(key_of("b")), "n1/crun");
  const CallId call = rebalance(RebalanceScope::Everything);
  ASSERT_NE(answer<Accepted>(call), nullptr);
  EXPECT_EQ(answer<Accepted>(call)->moved, std::vector{key_of("b")});
  driver.advance(2s);
  EXPECT_NE(answer<Finished>(call), nullptr);
  EXPECT_EQ(driver.place_of(key_of("b")), "n2/crun");
}

TEST_F(RebalanceByCall, IsOneAtATime) {
  driver.agent("n2").starts_slowly = true;
  measure_all();
  driver.advance(60s);  // the thresholds have begun one
  const CallId call = rebalance();
  driver.advance(290s);
  EXPECT_EQ(answer<Accepted>(call), nullptr);
  driver.set("n2", key_of("b"), model::InstanceState::Active);
  driver.advance(2s);
  driver.advance(60s - 1us);
  EXPECT_EQ(answer<Accepted>(call), nullptr) << "what was moved has not been measured yet";
  driver.advance(1us);
  EXPECT_NE(answer<Accepted>(call), nullptr);
}

TEST_F(RebalanceByCall, IsRefusedWhenTooManyWait) {
  std::vector<Event> calls;
  for (int i = 0; i < 17; ++i) calls.push_back(RebalanceCall{++call_, RebalanceScope::Overloaded});
  driver.tell(calls);
  ASSERT_NE(answer<Error>(call_), nullptr);
  EXPECT_EQ(answer<Error>(call_)->code, Code::Exhausted);
}

TEST_F(RebalanceByCall, LeavesNobodyWithoutAPlace) {
  driver.apply({a_service("a").cpu(500), a_service("b").cpu(500), a_service("c").cpu(1000),
                a_deployment("e", {a_run("c")})});
  ASSERT_EQ(driver.place_of(key_of("c")), "n2/crun");
  const auto before = driver.durable().instances;
  const CallId call = rebalance(RebalanceScope::Everything);
  ASSERT_NE(answer<Error>(call), nullptr) << "b would take the room that c has";
  EXPECT_EQ(answer<Error>(call)->code, Code::Conflict);
  EXPECT_EQ(driver.durable().instances, before);
}

}  // namespace
}  // namespace berth::control
