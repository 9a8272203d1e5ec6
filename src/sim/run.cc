#include "sim/run.h"

#include <fmt/format.h>

#include "sim/checkers/checkers.h"
#include "sim/cluster.h"
#include "sim/draw.h"
#include "sim/session_users.h"
#include "sim/settle.h"
#include "sim/workload.h"

namespace berth::sim {
namespace {

constexpr std::uint64_t kClusterStream = 0x636c7573746572;
constexpr std::uint64_t kUserStream = 0x7573657273;
constexpr std::uint64_t kLoadStream = 0x6c6f616473;
constexpr std::uint64_t kSessionStream = 0x73657373696f6e73;

std::size_t draw_node_count(const Setup& setup) {
  Random random(setup.seed ^ kClusterStream);
  return setup.nodes.value_or(3 + random.below(6));
}

// Drawn from a stream of its own: worlds without applications stay what they were.
bool has_sessions(const Setup& setup) {
  if (setup.sessions != Sessions::Drawn) return setup.sessions == Sessions::Yes;
  return Random(setup.seed ^ kSessionStream).below(4) == 0;
}

// So few ports that they are used again soon, and run out now and then.
void draw_session_ports(Setup& setup) {
  if (!has_sessions(setup) || setup.session_ports) return;
  Random random = Random(setup.seed ^ kSessionStream).fork();
  const auto count = static_cast<std::uint32_t>(random.between(3, 60));
  setup.session_ports = control::IdRange{20'000, 20'000 + count};
}

// Until then, whoever opens sessions calls, too.
void run_until(Time until, World& world, std::optional<SessionUsers>& sessions) {
  while (sessions && sessions->next() < until && world.violations().empty()) {
    world.run_for(std::max(sessions->next() - world.now(), Duration{}));
    for (const control::Event& call : sessions->calls(world.now())) world.call(call);
  }
  world.run_for(until - world.now());
}

// The users call while things go wrong; who gets no answer does not insist.
void run_with_users(const Setup& setup, const Cluster& cluster, World& world) {
  Random random(setup.seed ^ kUserStream);
  Workload users(random.fork(), cluster);
  const Duration pause = draw(random, 5s, 60s);
  const Time end = world.now() + setup.faulty;
  world.run_for(draw(random, 1s, 8s));
  world.call(users.first_call());
  std::optional<SessionUsers> sessions;
  if (has_sessions(setup)) {
    sessions.emplace(Random(setup.seed ^ kSessionStream).fork().fork(), world.now());
  }
  while (world.now() < end && world.violations().empty()) {
    run_until(std::min(world.now() + draw_around(random, pause), end), world, sessions);
    if (world.now() < end) world.call(users.next_call());
  }
}

// In every third run instances use so much that nodes are overloaded, and thresholds tell. Drawn
// from a stream of its own: the other runs stay what they were.
void draw_loads_and_thresholds(Setup& setup, Cluster& cluster) {
  Random random(setup.seed ^ kLoadStream);
  if (setup.loads || random.below(3) != 0) return;
  setup.loads = draw_loads(random.next(), {Dmips(random.between(200, 3000)), Bytes(256 << 20)});
  const model::ThresholdRule rule{.min = 70, .max = 80, .timeout = draw(random, 0s, 15s)};
  model::Thresholds thresholds{.cpu = rule, .ram = {}};
  if (draw_percent(random, 50)) thresholds.ram = rule;
  cluster.configs.front().thresholds = thresholds;
}

}  // namespace

Outcome outcome_of(const Setup& setup, const Cluster& cluster, const World& world) {
  const char* sessions = has_sessions(setup) ? " --sessions" : "";
  const std::string replay =
      fmt::format("berth-sim --seed {} --nodes {} --minutes {} --faults {}{}", setup.seed,
                  cluster.nodes.size(), setup.faulty / 60s, to_string(setup.faults), sessions);
  return {.seed = setup.seed,
          .nodes = cluster.nodes.size(),
          .violations = world.violations(),
          .hash = world.hash(),
          .virtual_time = world.now() - Time{},
          .counts = world.counts(),
          .replay = replay};
}

Outcome simulate(const Setup& given) {
  Setup setup = given;
  Cluster cluster =
      draw_cluster(Random(setup.seed ^ kClusterStream).fork(), draw_node_count(setup));
  draw_loads_and_thresholds(setup, cluster);
  draw_session_ports(setup);
  World world(setup, cluster);
  world.begin_faults();
  run_with_users(setup, cluster, world);
  world.heal();
  settle_and_rest(world);
  return outcome_of(setup, cluster, world);
}

Outcome simulate_twice(const Setup& setup) {
  Outcome first = simulate(setup);
  if (!first.violations.empty()) return first;
  const Outcome second = simulate(setup);
  if (first.hash != second.hash) {
    first.violations.push_back(
        {Time{} + first.virtual_time, "same trace",
         fmt::format("two runs of one seed differ: {:016x} and {:016x}", first.hash, second.hash)});
  }
  return first;
}

Outcome simulate_calm_unit(Duration duration) {
  return simulate(
      {.seed = 16, .nodes = 16, .faulty = duration, .faults = {}, .sessions = Sessions::No});
}

}  // namespace berth::sim
