#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>

#include "bench/bench.h"
#include "bench/real_unit.h"
#include "bench/session_callers.h"
#include "bench/session_rows.h"

// Sessions of the real programs, beside calls that do nothing.
namespace berth::bench {
namespace {

constexpr std::size_t kAtOnce = 256;         // calls under way
constexpr std::size_t kEmptyCalls = 20'000;  // for the rate
constexpr std::size_t kPacedOpens = 1'000;
constexpr double kPace = 100;  // opens per second
constexpr std::size_t kOpensOfRound = 4'000;
constexpr std::size_t kRounds = 3;
constexpr int kStandIns = 16;

// Until so many sessions find a place at once.
void wait_until_ready(SessionCalls& sessions, std::size_t count) {
  sessions.rate_of_calls(0, count, kAtOnce);
  sessions.close_all(0, count);
}

// Stand-ins say that they are alive.
class Beats {
 public:
  explicit Beats(const std::vector<std::unique_ptr<InstantAgent>>& agents)
      : thread_([this, &agents] { beat(agents); }) {}
  ~Beats() {
    stops_ = true;
    thread_.join();
  }

 private:
  void beat(const std::vector<std::unique_ptr<InstantAgent>>& agents) {
    while (!stops_) {
      for (const auto& agent : agents) agent->beat();
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
  }

  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

struct Empty {
  Latency paced;
  double rate = 0;
};

Empty add_empty(std::vector<Row>& rows, const RealUnit& unit) {
  const EmptyServer server(unit);
  const Caller caller = server.caller();
  Empty empty;
  empty.paced = latency_of(time_empty(caller, kPacedOpens, kPace));
  empty.rate = rate_of_empty(caller, kEmptyCalls, kAtOnce);
  rows.push_back({"empty call", empty.paced.p50 * 1e3, "ms, p50", "100 calls per second"});
  rows.push_back({"  p99", empty.paced.p99 * 1e3, "ms, p99", ""});
  rows.push_back({"  rate", empty.rate, "calls per second", fmt::format("{} at once", kAtOnce)});
  return empty;
}

// A real agent, whose processes serve again and again.
void add_real_opens(std::vector<Row>& rows, const RealUnit& unit, const Empty& empty) {
  const auto agent = unit.start_agent("real");
  unit.wait_for_nodes(1);
  apply(unit, {model::Namespace{kSessionNamespace},
               served_by(model::CommandImage{{"/bin/sleep"}}, {"1000000"}), served("real", 4)});
  SessionCalls sessions(caller_of(unit), kSessionNamespace, "real");
  wait_until_ready(sessions, 4);
  const Latency open = latency_of(time_paced(
      kPacedOpens, kPace, [&](std::size_t i) { sessions.open(i); },
      [&](std::size_t i) { sessions.close(i); }));
  const double ratio = open.p50 / empty.paced.p50;
  rows.push_back(
      {"open, real agent", open.p50 * 1e3, "ms, p50",
       fmt::format("{:.1f} x the empty call, goal: 4 x, {}", ratio, verdict(ratio <= 4))});
  rows.push_back(
      {"  p99", open.p99 * 1e3, "ms, p99", fmt::format("goal: 5, {}", verdict(open.p99 <= 5e-3))});
}

void add_rates(std::vector<Row>& rows, const RealUnit& unit, const Empty& empty) {
  std::vector<std::unique_ptr<InstantAgent>> agents;
  for (int i = 0; i < kStandIns; ++i) {
    agents.push_back(std::make_unique<InstantAgent>(unit, fmt::format("node-{:02}", i)));
  }
  const Beats beats(agents);
  unit.wait_for_nodes(kStandIns);
  model::Application application = served("many", 500);
  application.sessions.per_instance = 10;
  application.sessions.keep_finished = std::chrono::seconds(1);
  apply(unit, {model::Namespace{kSessionNamespace},
               served_by(model::OciImage{"images/plain:1"}, {}), application});
  SessionCalls sessions(caller_of(unit), kSessionNamespace, "many");
  wait_until_ready(sessions, 1'000);
  double by_calls = 0;
  double by_stream = 0;
  std::size_t first = 1'000;
  for (std::size_t round = 0; round < kRounds; ++round) {
    by_calls = std::max(by_calls, sessions.rate_of_calls(first, kOpensOfRound, kAtOnce));
    sessions.close_all(first, kOpensOfRound);
    first += kOpensOfRound;
    by_stream = std::max(by_stream, sessions.rate_of_stream(first, kOpensOfRound, 2 * kAtOnce));
    sessions.close_all(first, kOpensOfRound);
    first += kOpensOfRound;
  }
  rows.push_back({"opens, by calls", by_calls, "opens per second",
                  fmt::format("{:.2f} x empty calls, goal: 0.5 x, {}", by_calls / empty.rate,
                              verdict(by_calls >= empty.rate / 2))});
  rows.push_back({"opens, over a stream", by_stream, "opens per second",
                  fmt::format("goal: 10,000, {}", verdict(by_stream >= 10'000))});
}

void add_application_creates(std::vector<Row>& rows, const RealUnit& unit) {
  constexpr std::size_t kApplications = 300;
  const Latency create = latency_of(time_paced(kApplications, kPace, [&](std::size_t i) {
    apply(unit, {served(fmt::format("app-{}", i), 0)});
  }));
  rows.push_back({"application create", create.p50 * 1e3, "ms, p50", "until it is durable"});
  rows.push_back({"  p99", create.p99 * 1e3, "ms, p99",
                  fmt::format("goal: 10, {}", verdict(create.p99 <= 10e-3))});
}

}  // namespace

void add_session_units(std::vector<Row>& rows) {
  const RealUnit with_agent;
  const Empty empty = add_empty(rows, with_agent);
  add_real_opens(rows, with_agent, empty);
  add_application_creates(rows, with_agent);
  const RealUnit with_stand_ins;
  add_rates(rows, with_stand_ins, empty);
}

}  // namespace berth::bench
