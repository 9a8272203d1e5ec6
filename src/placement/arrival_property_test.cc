#include "placement/testing_plans.h"

// What holds for every cluster, tried on many random ones. A failure names the seed.
namespace berth::placement {
namespace {

TEST(OneMoreService, MovesNobodyWhileThereIsRoomAnywhere) {
  int placed = 0;
  int displacing = 0;
  for_random_clusters(
      [&](const model::Manifest& manifest, Random& random) {
        const Arrival arrival = an_arrival(settle(manifest), random);
        const Plan low = plan_of(arrival.at_priority(kLowest));
        EXPECT_FALSE(moves_anybody(low));
        const Plan high = plan_of(arrival.at_priority(kHighest));
        const std::string place = place_of(low, kArriving);
        displacing += moves_anybody(high) ? 1 : 0;
        if (place.empty()) return;
        ++placed;
        EXPECT_EQ(place_of(high, kArriving), place);
        EXPECT_FALSE(moves_anybody(high));
      },
      kCrowded);
  EXPECT_GT(placed, 50);
  EXPECT_GT(displacing, 10) << "too few arrivals displace anybody to prove anything";
}

// The cluster without what the arriving one may displace.
model::Manifest without_displaceable(const model::Manifest& manifest) {
  const Snapshot snapshot = snapshot_of(manifest);
  Asked displaceable;
  for (const model::Deployment* deployment : snapshot.deployments) {
    const model::RunRequest& run = deployment->run.front();
    if (run.item == kArriving.item || model::is_pinned(*item_for(snapshot, run))) continue;
    displaceable.emplace(run.item, run.subject);
  }
  return without(manifest, displaceable);
}

TEST(OneMoreService, OfHighestPriorityGetsThePlaceItWouldHaveWithoutTheLowerOnes) {
  int displacing = 0;
  for_random_clusters(
      [&](const model::Manifest& manifest, Random& random) {
        const Arrival arrival = an_arrival(settle(manifest), random);
        const model::Manifest crowded = arrival.at_priority(kHighest);
        const Plan plan = plan_of(crowded);
        const Plan alone = plan_of(without_displaceable(crowded));
        EXPECT_EQ(place_of(plan, kArriving).empty(), place_of(alone, kArriving).empty());
        if (!moves_anybody(plan)) return;
        ++displacing;
        EXPECT_EQ(place_of(plan, kArriving), place_of(alone, kArriving));
      },
      kCrowded);
  EXPECT_GT(displacing, 10);
}

TEST(OneMoreService, LeavesWhatIsPinnedWhereItIs) {
  int pinned_by_the_way = 0;
  for_random_clusters(
      [&](const model::Manifest& manifest, Random& random) {
        const model::Manifest crowded = an_arrival(settle(manifest), random).at_priority(kHighest);
        const Snapshot snapshot = snapshot_of(crowded);
        const Plan plan = make_plan(snapshot, {});
        for (const auto& [instance, present] : snapshot.present) {
          if (!model::is_pinned(*snapshot.items.at({instance.item, present.version}))) continue;
          EXPECT_EQ(place_of(plan, instance), model::to_string(present.place));
          pinned_by_the_way += moves_anybody(plan) ? 1 : 0;
        }
      },
      kCrowded);
  EXPECT_GT(pinned_by_the_way, 2) << "too little that is pinned stood in the way of anybody";
}

}  // namespace
}  // namespace berth::placement
