#include <fmt/format.h>
#include <malloc.h>

#include "bench/bench.h"
#include "bench/session_rows.h"
#include "bench/sessions_in_process.h"

namespace berth::bench {
namespace {

constexpr std::uint32_t kNodesWithSessions = 5'000;
constexpr std::uint32_t kSessions = 1'000'000;
constexpr std::uint32_t kPerInstance = 10;
constexpr std::size_t kProbes = 500;  // opened and closed again, one by one

double bytes_in_use() { return static_cast<double>(mallinfo2().uordblks); }

struct Costs {
  double open = 0;
  double close = 0;
};

// Seconds for one, alone in its steps.
Costs costs_of_one(SessionsInProcess& world, const std::string& application) {
  Costs best;
  best.open = best_of([&] {
    world.take_spent();
    const auto opened = world.open(application, kProbes, 1);
    const double open = world.take_spent() / kProbes;
    world.close(opened);
    const double close = world.take_spent() / kProbes;
    best.close = best.close == 0 ? close : std::min(best.close, close);
    return open;
  });
  return best;
}

void add_held(std::vector<Row>& rows) {
  const double nothing = bytes_in_use();
  SessionsInProcess world(kNodesWithSessions);
  world.add_application("echo", (kSessions + 10 * kProbes) / kPerInstance, kPerInstance);
  const double before = bytes_in_use();
  std::size_t open = 0;
  double smallest = 0;
  for (const std::size_t wanted :
       {std::size_t{1'000}, std::size_t{100'000}, std::size_t{kSessions}}) {
    world.take_spent();
    world.open("echo", wanted - open, 100);
    const double in_batches = world.take_spent() / static_cast<double>(wanted - open);
    open = wanted;
    const double bytes = (bytes_in_use() - before) / static_cast<double>(open);
    const Costs costs = costs_of_one(world, "echo");
    if (smallest == 0) smallest = costs.open;
    rows.push_back({fmt::format("one open beside {}", with_commas(open)), costs.open * 1e6,
                    "us to decide",
                    fmt::format("{:.2f} x the smallest; {:.1f} us of 100 at once",
                                costs.open / smallest, in_batches * 1e6)});
    rows.push_back({"  one close", costs.close * 1e6, "us to decide", ""});
    if (open < kSessions) continue;
    const double all = (bytes_in_use() - nothing) / kSessions;
    rows.push_back({"memory of a session", bytes, "bytes",
                    fmt::format("goal: 1,024, {}", verdict(bytes < 1'024))});
    rows.push_back({"  with instances and nodes", all, "bytes", "all that the core holds"});
  }
}

void add_others(std::vector<Row>& rows) {
  constexpr std::uint32_t kOthers = 100'000;
  SessionsInProcess world(100);
  world.add_application("echo", 1'000, kPerInstance);
  const double alone = costs_of_one(world, "echo").open;
  world.deploy(kOthers);
  const double beside = costs_of_one(world, "echo").open;
  rows.push_back({"opens, nothing else on record", 1 / alone, "opens per second", ""});
  rows.push_back({"  beside 100,000 instances", 1 / beside, "opens per second",
                  fmt::format("{:.2f} x, goal: within 20 %, {}", alone / beside,
                              verdict(alone / beside > 0.8))});
}

}  // namespace

void add_session_core(std::vector<Row>& rows) {
  add_others(rows);
  add_held(rows);
}

}  // namespace berth::bench
