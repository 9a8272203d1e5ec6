#include <fmt/format.h>

#include "bench/bench.h"
#include "bench/clusters.h"
#include "placement/plan.h"

namespace berth::bench {

std::vector<Row> placement_per_instance() {
  std::vector<Row> rows;
  for (const std::size_t nodes : {16, 100, 1'000}) {
    constexpr std::uint32_t kInstances = 1'000;
    const model::Manifest manifest = varied_cluster(nodes, kInstances);
    const placement::Snapshot snapshot = placement::snapshot_of(manifest);
    const double seconds = seconds_per(kInstances, [&] {
      const placement::Plan plan =
          placement::make_plan(snapshot, {.answers = placement::Answers::Kept});
      if (plan.placements.size() != kInstances) throw std::logic_error("not everything was placed");
    });
    const double per_node = seconds * 1e9 / static_cast<double>(nodes);
    rows.push_back({fmt::format("{} nodes", nodes), seconds * 1e6, "us per instance",
                    fmt::format("{:.0f} ns per node looked at", per_node)});
  }
  return rows;
}

}  // namespace berth::bench
