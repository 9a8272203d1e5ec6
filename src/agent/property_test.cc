#include <gtest/gtest.h>

#include "agent/driver.h"
#include "agent/fake_runtimes.h"
#include "base/random.h"

// Random histories of commands, runtimes that misbehave, connections and deaths of the agent.
namespace berth::agent {
namespace {

using model::InstanceState;
using model::Readiness;

const std::vector<std::string> kRuntimes{"crun", "wasm"};

// Shorter waits than in real life make more happen in a history.
Config a_quick_config() {
  Config config = a_config();
  config.heartbeat = 20s;
  config.stop_grace = 1s;
  config.action_timeout = 10s;
  config.prepare_timeout = 20s;
  return config;
}

class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed), runtimes_(random_.fork()) {
    runtimes_.install(a_found("os", {}, model::ItemType::Component), model::RuntimeId{"crun"});
  }

  void misbehave(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      switch (random_.below(12)) {
        case 0:
        case 1:
        case 2: command(); break;
        case 3: runtimes_.kill_one(driver_.now()); break;
        case 4: runtimes_.restart_runtime(driver_.now(), any_runtime()); break;
        case 5: tell({Connected{++connection_}}); break;
        case 6: tell({Disconnected{connection_}}); break;
        case 7: tell({a_node({some_runtime("crun"), some_runtime("wasm")})}); break;
        case 8:
          if (random_.below(3) == 0) lose_agent();
          if (random_.below(9) == 0) lose_store();
          break;
        default: break;
      }
      live(random_.below(4) == 0 ? Duration(1s * random_.between(1, 30)) : Duration(1s));
    }
  }

  // Nothing fails any more, each runtime says once what it runs, and there is time for all.
  void calm_down() {
    runtimes_.set_bad_times(false);
    live(100s);
    tell({Connected{++connection_}, a_node({a_runtime("crun"), a_runtime("wasm")})});
    for (const std::string& runtime : kRuntimes) {
      runtimes_.list(driver_.now(), model::RuntimeId{runtime});
    }
    live(60s);
    if (driver_.durable().in_doubt) command_fully(unfinished());
    live(60s);
  }

  void lose_agent() {
    runtimes_.lose_agent();
    driver_.restart();
    begin_again();
  }

  void lose_store() {
    runtimes_.lose_agent();
    driver_.lose_store();
    begin_again();
  }

  void command_fully(std::vector<model::InstanceSpec> specs) {
    tell({a_full_command(driver_.durable().acted.number + 1, std::move(specs))});
  }

  std::vector<model::InstanceSpec> unfinished() const {
    std::vector<model::InstanceSpec> specs;
    for (const auto& [key, record] : driver_.durable().wanted) {
      if (!record.finished) specs.push_back(record.spec);
    }
    return specs;
  }

  void begin_again() {
    twin_ = Agent(a_quick_config(), driver_.durable());
    heard_.clear();
    revision_.reset();
    if (random_.below(2) == 0) tell({});
    tell({Connected{++connection_}, a_node({a_runtime("crun"), a_runtime("wasm")})});
  }

  // What runs is what is wanted, and the controller knows it.
  void expect_all_well() {
    for (const auto& [key, record] : driver_.durable().wanted) {
      const auto& status = driver_.status(key.item.value());
      if (record.finished) {
        EXPECT_NE(status.state, InstanceState::Active);
        continue;
      }
      EXPECT_EQ(status.state,
                is_to_be_paused(record) ? InstanceState::Paused : InstanceState::Active)
          << model::to_string(key) << " " << status.problem.message;
      EXPECT_EQ(runtimes_.places_of(key), std::vector{record.spec.runtime});
    }
    for (const auto& [name, run] : runtimes_.alive()) {
      const auto wanted = driver_.durable().wanted.find(name.first);
      if (wanted != driver_.durable().wanted.end()) {
        EXPECT_EQ(run.paused, is_to_be_paused(wanted->second)) << model::to_string(name.first);
        continue;
      }
      EXPECT_EQ(run.type, model::ItemType::Component) << model::to_string(name.first);
      EXPECT_FALSE(driver_.status(name.first.item.value()).stopping);
    }
  }

  void expect_that_reports_added_up() {
    const auto shown = driver_.shown();
    tell({Connected{++connection_}});
    ASSERT_TRUE(driver_.report().full);
    EXPECT_EQ(driver_.shown(), shown);
  }

  void live(Duration duration) {
    const Time end = driver_.now() + duration;
    for (;;) {
      std::optional<Time> next = runtimes_.next();
      take_earlier(next, driver_.effects().wake_at);
      if (!next || *next > end) break;
      driver_.sleep(std::max(*next - driver_.now(), Duration::zero()));
      tell(runtimes_.run_until(driver_.now()));
    }
    driver_.sleep(end - driver_.now());
  }

  std::size_t starts = 0;
  std::size_t stops = 0;

 private:
  static bool is_to_be_paused(const model::WantedRecord& record) {
    return record.spec.paused && record.spec.item.type != model::ItemType::Component;
  }

  void tell(const std::vector<Event>& batch) {
    for (const Event& event : batch) {
      if (const auto* listed = std::get_if<RunsListed>(&event)) heard_.insert(listed->runtime);
    }
    const Effects effects = driver_.tell_all(batch);
    ASSERT_EQ(effects, twin_.step(driver_.now(), batch)) << "the same events, another answer";
    ASSERT_GT(effects.wake_at.value_or(kNever), driver_.now()) << "the shell would spin";
    for (const model::Report& report : effects.reports) check(report);
    for (const Action& action : effects.actions) {
      if (const auto* start = std::get_if<Start>(&action)) check(*start);
      starts += std::holds_alternative<Start>(action) ? 1 : 0;
      stops += std::holds_alternative<Stop>(action) ? 1 : 0;
      runtimes_.order(driver_.now(), action);
    }
  }

  // Only a runtime that has said nothing yet may have a run that the agent does not know of.
  void check(const Start& start) {
    for (const model::RuntimeId& place : runtimes_.places_of(start.spec.key)) {
      ASSERT_FALSE(heard_.contains(place))
          << "a second run of " << model::to_string(start.spec.key);
    }
  }

  void check(const model::Report& report) {
    ASSERT_TRUE(report.full || revision_) << "the first report is not full";
    const bool is_new = report.full || !model::is_heartbeat(report);
    ASSERT_EQ(report.revision, revision_.value_or(0) + (is_new ? 1 : 0));
    revision_ = report.revision;
    ASSERT_EQ(report.acted, driver_.durable().acted);
  }

  void command() {
    static const std::vector<std::string> kItems{"a", "b", "c", "d", "os"};
    const model::CommandNumber acted = driver_.durable().acted;
    CommandReceived received = a_full_command(acted.number + random_.below(3), {});
    if (random_.below(4) != 0) received.command.base = acted;
    if (random_.below(8) == 0) received.command.base = number(acted.number + 1);
    received.command.report_fully = random_.below(8) == 0;
    for (const std::string& item : kItems) {
      const auto choice = random_.below(4);
      if (choice == 0) received.command.stop.push_back(key_of(item));
      if (choice > 1) received.command.run.push_back(any_spec(item));
    }
    tell({received});
  }

  model::InstanceSpec any_spec(const std::string& item) {
    SpecBuilder spec = a_spec(item).backoff(1s, 4s).version(std::to_string(random_.between(1, 2)));
    if (random_.below(3) == 0) spec.paused();
    if (item == "os") spec.type(model::ItemType::Component);
    if (item == "a") spec.on(random_.below(2) == 0 ? "crun" : "wasm");
    if (item == "a" || item == "d") spec.image("web:" + std::to_string(random_.between(1, 2)));
    if (item == "b") spec.checked_every(5s, 2);
    if (item == "c") spec.restart(model::RestartMode::OnFailure).on("wasm");
    if (item == "d") spec.restart(model::RestartMode::Never).priority(random_.between(0, 1));
    return spec;
  }

  model::RuntimeId any_runtime() { return model::RuntimeId{kRuntimes[random_.below(2)]}; }

  model::Runtime some_runtime(const std::string& id) {
    return a_runtime(id, random_.below(3) == 0 ? Readiness::NotReady : Readiness::Ready);
  }

  Random random_;
  FakeRuntimes runtimes_;
  Driver driver_{a_quick_config()};
  Agent twin_{a_quick_config(), {}};
  std::uint64_t connection_ = 0;
  std::set<model::RuntimeId> heard_;  // in this life of the agent
  std::optional<std::uint64_t> revision_;
};

#ifdef __SANITIZE_ADDRESS__
constexpr std::uint64_t kHistories = 200;  // each is some fifty times slower
#else
constexpr std::uint64_t kHistories = 2000;
#endif

TEST(AgentProperty, RandomHistoriesNeverRunTwiceAndEndWell) {
  for (std::uint64_t seed = 0; seed < kHistories; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History history(seed);
    history.misbehave(40);
    history.calm_down();
    history.expect_all_well();
    history.expect_that_reports_added_up();
    if (HasFailure()) return;

    history.starts = history.stops = 0;
    history.lose_agent();
    history.live(60s);
    EXPECT_EQ(history.starts, 0U) << "a healthy run was started again";
    EXPECT_EQ(history.stops, 0U) << "a healthy run was stopped";
    history.expect_all_well();
    if (HasFailure()) return;

    const std::vector<model::InstanceSpec> wanted = history.unfinished();
    history.lose_store();
    history.live(60s);
    EXPECT_EQ(history.starts + history.stops, 0U) << "with its store lost it has not kept what ran";
    history.command_fully(wanted);
    history.live(60s);
    EXPECT_EQ(history.starts + history.stops, 0U) << "what ran the same was not left alone";
    history.expect_all_well();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace berth::agent
