#include <gtest/gtest.h>

#include <filesystem>

#include "bench/worlds.h"
#include "placement/cluster/cluster.h"

// A real cluster: every pod of the openb trace goes where the scan puts it.
namespace berth::bench {
namespace {

using placement::Cluster;

std::filesystem::path trace() {
  if (const char* named = std::getenv("BERTH_OPENB")) return named;
  return std::filesystem::path(BERTH_SOURCE_DIR) / ".." / "shared" / "traces" / "openb";
}

std::string place_of(const Cluster& cluster, placement::Slot slot) {
  return cluster.nodes()[slot.node].id.value();
}

TEST(Openb, IsPlacedAsTheScanPlacesIt) {
  const auto world = openb_world(trace());
  if (!world) GTEST_SKIP() << "the trace is not there: BERTH_OPENB names its directory";
  Cluster indexed(world->nodes);
  Cluster scanned(world->nodes);
  std::size_t placed = 0;
  for (const WorldRun& run : world->runs) {
    const auto spots = indexed.place_alike(run.request, run.count);
    for (std::size_t i = 0; i < run.count; ++i) {
      const auto choice = scanned.pipeline().choose(run.request);
      ASSERT_EQ(choice.has_value(), i < spots.size()) << run.request.key.item;
      if (!choice) break;
      ASSERT_EQ(place_of(indexed, spots[i].slot()), place_of(scanned, choice->slot));
      scanned.reserve(scanned.holding_for(run.request, choice->slot));
      ++placed;
    }
  }
  EXPECT_GT(placed, 1000u);
}

}  // namespace
}  // namespace berth::bench
