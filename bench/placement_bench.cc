#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "base/random.h"
#include "bench/bench.h"
#include "bench/worlds.h"
#include "placement/cluster/cluster.h"

namespace berth::bench {
namespace {

using placement::Cluster;
using placement::Holding;

double nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// What both engines took for the same.
struct Timing {
  double indexed = 0;    // ns per instance
  double reference = 0;  // the same, of a few of them
  std::size_t bytes = 0;
  std::size_t placed = 0;
};

std::string place_of(const Cluster& cluster, const std::optional<placement::Choice>& choice) {
  if (!choice) return "nowhere";
  return fmt::format("{}/{}", cluster.nodes()[choice->slot.node].id.value(), choice->slot.runtime);
}

// The reference is asked about some instances only: it would take hours. Both must agree.
class Reference {
 public:
  void ask(Cluster& cluster, const placement::Ask& request) {
    if (asked_ == kAskedMax) return;
    const auto start = Clock::now();
    const auto scanned = cluster.pipeline().choose(request);
    spent_ += nanoseconds_since(start);
    ++asked_;
    const auto indexed = cluster.choose(request);
    if (place_of(cluster, scanned) != place_of(cluster, indexed)) {
      throw std::logic_error(fmt::format("the scan says {}, the index {}",
                                         place_of(cluster, scanned), place_of(cluster, indexed)));
    }
  }
  double each() const { return asked_ == 0 ? 0 : spent_ / static_cast<double>(asked_); }

 private:
  static constexpr int kAskedMax = 24;
  double spent_ = 0;
  int asked_ = 0;
};

enum class Reasons { Untold, Told };

// All of it, in scheduling order, on nodes that are there already.
Timing place_all(const World& world, Reasons reasons) {
  Timing timing;
  Reference reference;
  Cluster cluster(world.nodes);
  double spent = 0;
  for (const WorldRun& run : world.runs) {
    reference.ask(cluster, run.request);
    const auto start = Clock::now();
    const std::size_t placed = cluster.place_alike(run.request, run.count).size();
    if (reasons == Reasons::Told && placed < run.count) cluster.why_not(run.request);
    spent += nanoseconds_since(start);
    timing.placed += placed;
  }
  timing.indexed = spent / static_cast<double>(world.instances());
  timing.reference = reference.each();
  timing.bytes = cluster.index_bytes() / world.nodes.size();
  return timing;
}

Timing best_of_three(const World& world, Reasons reasons) {
  Timing best = place_all(world, reasons);
  for (int i = 0; i < 2; ++i) {
    const Timing timing = place_all(world, reasons);
    if (timing.indexed < best.indexed) best = timing;
  }
  return best;
}

// One comes, one goes, on nodes that are about half full.
Timing come_and_go(const World& world, std::size_t turns) {
  Cluster cluster(world.nodes);
  std::vector<Holding> held;
  for (const WorldRun& run : world.runs) {
    for (const auto& spot : cluster.place_alike(run.request, run.count)) {
      held.push_back(cluster.holding_for(run.request, spot.slot()));
    }
  }
  Random random(3);
  Reference reference;
  Timing timing;
  double spent = 0;
  for (std::size_t turn = 0; turn < turns && !held.empty(); ++turn) {
    const placement::Ask& request = world.runs[random.below(world.runs.size())].request;
    if (turn % 1000 == 0) reference.ask(cluster, request);
    std::swap(held[random.below(held.size())], held.back());
    const auto start = Clock::now();
    cluster.release(held.back());
    held.pop_back();
    if (const auto choice = cluster.choose(request)) {
      held.push_back(cluster.holding_for(request, choice->slot));
      cluster.reserve(held.back());
      ++timing.placed;
    }
    spent += nanoseconds_since(start);
  }
  timing.indexed = spent / static_cast<double>(2 * turns);
  timing.reference = reference.each();
  timing.bytes = cluster.index_bytes() / world.nodes.size();
  return timing;
}

// One more of each, with many on record.
Timing one_more(const World& world) {
  Cluster cluster(world.nodes);
  for (const WorldRun& run : world.runs) cluster.place_alike(run.request, run.count);
  Timing timing;
  Reference reference;
  double spent = 0;
  for (const WorldRun& run : world.runs) {
    reference.ask(cluster, run.request);
    const auto start = Clock::now();
    timing.placed += cluster.place_alike(run.request, 1).size();
    spent += nanoseconds_since(start);
  }
  timing.indexed = spent / static_cast<double>(world.runs.size());
  timing.reference = reference.each();
  timing.bytes = cluster.index_bytes() / world.nodes.size();
  return timing;
}

Row row_of(std::string work, const World& world, const Timing& timing, std::size_t instances) {
  const Figures figures{.work = std::move(work),
                        .nodes = world.nodes.size(),
                        .instances = instances,
                        .ns_per_instance = timing.indexed,
                        .reference_ns_per_instance = timing.reference,
                        .bytes_per_node = timing.bytes};
  return {figures.work, timing.indexed, "ns per instance",
          fmt::format("{} nodes, {} of {} placed; the scan: {:.0f} ns, {:.0f} x; {} bytes per node",
                      figures.nodes, timing.placed, instances, timing.reference,
                      timing.reference / std::max(timing.indexed, 1e-9), timing.bytes),
          figures};
}

Row batch_row(const char* work, const World& world, Reasons reasons = Reasons::Told) {
  return row_of(work, world, best_of_three(world, reasons), world.instances());
}

Row single_row(const char* work, const World& world) {
  constexpr std::size_t kTurns = 20'000;
  return row_of(work, world, come_and_go(world, kTurns), kTurns);
}

}  // namespace

std::vector<Row> placement_per_instance() {
  std::vector<Row> rows{
      batch_row("edge unit", mixed_world(16, 256)),
      batch_row("mixed batch", mixed_world(1'000, 10'000)),
      batch_row("mixed batch", mixed_world(10'000, 100'000)),
      batch_row("mixed batch", mixed_world(100'000, 1'000'000)),
      batch_row("identical replicas", alike_world(10'000, 100'000)),
      row_of("one more", mixed_world(10'000, 60'000), one_more(mixed_world(10'000, 60'000)), 20),
      batch_row("half unplaceable", half_unplaceable_world(10'000, 100'000), Reasons::Untold),
      batch_row("unplaceable, reasons", half_unplaceable_world(10'000, 100'000)),
      single_row("place or release", mixed_world(10'000, 60'000)),
      single_row("  bound by ram", mixed_world(10'000, 200'000, 20, Bound::Ram)),
      single_row("  1,000 requests", mixed_world(10'000, 60'000, 1'000)),
  };
  const char* traces = std::getenv("BERTH_OPENB");
  const auto openb = traces == nullptr ? std::nullopt : openb_world(traces);
  if (openb) {
    rows.push_back(batch_row("openb", *openb));
  } else {
    rows.push_back({"openb", 0, "skipped", "BERTH_OPENB names no directory with the trace", {}});
  }
  return rows;
}

}  // namespace berth::bench
