#include "placement/testing_plans.h"

// Whole plans, found by the index and by asking every node: the same to the last word.
namespace berth::placement {
namespace {

// Many nodes, so that not all that they say is kept.
const ClusterShape kWide{.nodes_max = 90,
                         .items_max = 10,
                         .requests_max = 30,
                         .instances_max = 20,
                         .running_ppm = 300'000,
                         .trouble_ppm = 30'000};

void expect_same_plans(const ClusterShape& shape, std::uint64_t seeds) {
  for_random_clusters(
      [](const model::Manifest& manifest, Random&) {
        const Snapshot snapshot = snapshot_of(manifest);
        for (const Mode mode : {Mode::Run, Mode::Replan, Mode::RebalanceMinimal}) {
          for (const Answers answers : {Answers::Kept, Answers::NotKept}) {
            EXPECT_EQ(
                make_plan(snapshot, {.mode = mode, .answers = answers}),
                make_plan(snapshot, {.mode = mode, .search = Search::Scan, .answers = answers}));
          }
        }
      },
      shape, seeds);
}

TEST(IndexedPlan, IsTheOneOfTheScanInAWideCluster) { expect_same_plans(kWide, 12); }

TEST(IndexedPlan, IsTheOneOfTheScanInACrowdedCluster) { expect_same_plans(kCrowded, kSeeds); }

}  // namespace
}  // namespace berth::placement
