#pragma once

#include <cstdint>

#include "base/random.h"
#include "model/manifest.h"

namespace berth::placement {

// How big a random cluster may become, and what is drawn for it.
struct ClusterShape {
  std::uint64_t nodes_max = 6;
  std::uint64_t items_max = 5;
  std::uint64_t requests_max = 8;
  std::uint32_t instances_max = 3;
  // In parts of a million. What runs is drawn without regard to the rules: some of it may not stay.
  std::uint64_t running_ppm = 400'000;
  std::uint64_t trouble_ppm = 60'000;  // a node that is cordoned, paused, silent, not Ready
};

// A valid manifest with a cluster to plan on. Amounts are few and round, so that ties, full nodes
// and refusals by every rule are common; the same random numbers give the same cluster everywhere.
model::Manifest random_cluster(Random& random, const ClusterShape& shape);

}  // namespace berth::placement
