#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "control/testing.h"

// A week of a unit whose instances use what they use with much noise. Each minute is one step: all
// agents say what the last minute's averages were.
namespace berth::control {
namespace {

constexpr int kNodes = 4;
constexpr std::uint32_t kInstances = 24;
constexpr int kMinutes = 10'000;

Config a_slow_heart() {
  Config config;
  config.heartbeat = 60s;
  config.broken_after = 120s;
  config.silent_after = 180s;
  config.node_lost_grace = 600s;
  return config;
}

model::NodeConfig a_rule() {
  model::NodeConfig config;
  config.name = "everywhere";
  config.thresholds.emplace();
  config.thresholds->cpu = model::ThresholdRule{.min = 75, .max = 85, .timeout = 60s};
  return config;
}

class Week {
 public:
  // Instances use about so much of all cpu there is, and twice as much of the node that they start
  // on.
  Week(std::uint64_t seed, std::int64_t percent_used) : random_(seed) {
    for (int i = 1; i <= kNodes; ++i) connect(fmt::format("n{}", i));
    step({ApplyCall{.call = 1,
                    .documents = {a_service("a").cpu(1), a_rule(),
                                  a_deployment("d", {a_run("a").times(kInstances)})},
                    .if_revision = {}}});
    const std::int64_t mean = kNodes * 1000 * percent_used / 100 / kInstances;
    for (std::uint32_t i = 0; i < kInstances; ++i) {
      const bool hot =
          controller_.durable().instances.at(key_of("a", i)).place->node == node_id("n1");
      uses_[key_of("a", i)] = random_.between(mean / 2, mean * 3 / 2) * (hot ? 2 : 1);
    }
  }

  void live() {
    for (minute_ = 0; minute_ < kMinutes; ++minute_) {
      now_ += 60s;
      std::vector<Event> reports;
      for (auto& [id, agent] : agents_) reports.push_back(measured(id, agent));
      step(std::move(reports));
    }
  }

  int moves() const { return moves_; }
  int last_move() const { return last_move_; }

 private:
  void connect(const std::string& name) {
    const model::NodeId id = node_id(name);
    FakeAgent& agent = agents_.emplace(id, FakeAgent(a_node())).first->second;
    step({NodeConnected{id, 1}, NodeReported{id, 1, agent.full()}});
  }

  // What it really uses, give or take a fifth.
  Event measured(const model::NodeId& id, FakeAgent& agent) {
    model::Usage total;
    for (auto& [key, status] : agent.statuses) {
      const std::int64_t uses = uses_.at(key);
      status.usage.cpu = Dmips{uses + random_.between(-uses / 5, uses / 5)};
      total = total + status.usage;
    }
    for (const auto& [key, status] : std::map(agent.statuses)) agent.set(key, status.state);
    agent.usage = total;
    return NodeReported{id, 1, agent.changes()};
  }

  void step(std::vector<Event> events) {
    while (!events.empty()) {
      const Effects effects = controller_.step(now_, std::exchange(events, {}));
      for (const Note& note : effects.notes) {
        if (note.kind != NoteKind::Moved) continue;
        ++moves_;
        last_move_ = minute_;
      }
      for (const Outgoing& outgoing : effects.commands) {
        events.push_back(NodeReported{outgoing.node, outgoing.connection,
                                      agents_.at(outgoing.node).answer(outgoing.command)});
      }
    }
  }

  Random random_;
  Time now_ = Time{} + 100s;
  Controller controller_{a_slow_heart(), {}};
  std::map<model::NodeId, FakeAgent> agents_;
  std::map<model::InstanceKey, std::int64_t> uses_;
  int minute_ = 0;
  int moves_ = 0;
  int last_move_ = 0;
};

TEST(Oscillation, NoiseMovesNothingOnceTheUnitIsBalanced) {
  Week week(1, 55);
  week.live();
  EXPECT_GT(week.moves(), 0) << "n1 was overloaded in the beginning";
  EXPECT_LT(week.moves(), 12);
  EXPECT_LT(week.last_move(), 1000) << "of " << kMinutes << " minutes";
}

}  // namespace
}  // namespace berth::control
