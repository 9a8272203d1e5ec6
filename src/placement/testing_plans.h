#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "placement/asked.h"
#include "placement/plan.h"
#include "placement/random_cluster.h"
#include "placement/recorder.h"
#include "placement/testing.h"
#include "placement/verdict.h"

// Random clusters, and one that asks for one more service.
namespace berth::placement {

inline constexpr std::uint64_t kSeeds = 400;

inline void for_random_clusters(const std::function<void(const model::Manifest&, Random&)>& check,
                                const ClusterShape& shape = {}, std::uint64_t seeds = kSeeds) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const model::Manifest manifest = random_cluster(random, shape);
    check(manifest, random);
    if (::testing::Test::HasFatalFailure() || ::testing::Test::HasNonfatalFailure()) return;
  }
}

struct Arrival {
  model::Manifest cluster;
  model::Item item;
  model::RunRequest run;

  model::Manifest at_priority(std::int64_t priority) const {
    model::Manifest manifest = cluster;
    model::RunRequest arriving = run;
    arriving.priority = priority;
    manifest.emplace_back(item);
    manifest.emplace_back(model::Deployment{"arrival", {arriving}});
    return manifest;
  }
};

inline const model::InstanceKey kArriving = key("new");

using Asked = std::set<std::pair<model::ItemId, model::SubjectId>>;

// The cluster where these are neither asked for nor running. Each deployment asks for one thing.
inline model::Manifest without(model::Manifest manifest, const Asked& gone) {
  std::erase_if(manifest, [&](const model::Document& document) {
    const auto* deployment = std::get_if<model::Deployment>(&document);
    return deployment != nullptr &&
           gone.contains({deployment->run.front().item, deployment->run.front().subject});
  });
  for (model::Document& document : manifest) {
    auto* node = std::get_if<model::Node>(&document);
    if (node == nullptr) continue;
    std::erase_if(node->running, [&](const model::RunningInstance& running) {
      return gone.contains({running.key.item, running.key.subject});
    });
  }
  return manifest;
}

// The cluster when its plan has been carried out. What was refused, even in part, is not asked for
// any more and does not run.
inline model::Manifest settle(const model::Manifest& manifest) {
  const Plan plan = plan_of(manifest);
  Asked given_up;
  for (const Refusal& refusal : plan.refused) {
    given_up.emplace(refusal.key.item, refusal.key.subject);
  }
  return without(carried_out(manifest, plan), given_up);
}

inline Arrival an_arrival(model::Manifest cluster, Random& random) {
  // Another cluster lends an item with random needs and demands.
  const model::Manifest donor = random_cluster(random, {});
  Arrival arrival{.cluster = std::move(cluster), .item = {}, .run = {}};
  for (const model::Document& document : donor) {
    if (const auto* item = std::get_if<model::Item>(&document)) arrival.item = *item;
    if (const auto* deployment = std::get_if<model::Deployment>(&document)) {
      arrival.run = deployment->run.front();
    }
  }
  arrival.item.request = {
      Dmips{random.between(1, 10) * 50}, Bytes{random.between(1, 10) * 50}, {}, {}};
  arrival.item.quotas = {};
  // Mostly undemanding otherwise, so that room is what decides.
  if (random.below(4) != 0) {
    arrival.item.images.resize(1);
    arrival.item.images.front() = an_item("any").build().images.front();
    arrival.run.labels.clear();
    arrival.run.nodes.clear();
  }
  arrival.item.id = kArriving.item;
  arrival.item.type = model::ItemType::Service;
  arrival.run.item = kArriving.item;
  arrival.run.subject = kArriving.subject;
  arrival.run.version = arrival.item.version;
  arrival.run.instances = 1;
  return arrival;
}

inline bool moves_anybody(const Plan& plan) {
  return !plan.stops.empty() || std::ranges::any_of(plan.placements, [](const Placement& placed) {
    return placed.key != kArriving && placed.action != Action::Keep;
  });
}

// Few nodes and much to run on them.
inline const ClusterShape kCrowded{
    .nodes_max = 3, .items_max = 8, .requests_max = 14, .trouble_ppm = 0};

inline constexpr std::int64_t kLowest = -1;
inline constexpr std::int64_t kHighest = 100;

}  // namespace berth::placement
