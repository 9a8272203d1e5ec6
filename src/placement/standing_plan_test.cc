#include "placement/standing_plan.h"

#include "placement/testing_plans.h"

// What a standing plan says of a small change is what a plan of everything says.
namespace berth::placement {
namespace {

using Keys = std::set<model::InstanceKey>;

const ClusterShape kBusy{
    .nodes_max = 6, .items_max = 10, .requests_max = 20, .running_ppm = 700'000, .trouble_ppm = 0};

// What each node is used for by others.
using Loads = std::vector<model::Usage>;

Snapshot loaded(const model::Manifest& manifest, const Loads& loads) {
  Snapshot snapshot = snapshot_of(manifest);
  for (std::size_t i = 0; i < loads.size(); ++i) snapshot.nodes[i].system_usage = loads[i];
  return snapshot;
}

// A cluster where all has come to rest, and what stands there.
struct Settled {
  explicit Settled(const model::Manifest& before, const Loads& loads = {})
      : manifest(carried_out(before, make_plan(loaded(before, loads), {}))),
        snapshot(loaded(manifest, loads)),
        whole(plan_everything(snapshot)) {}

  // Those of a lower priority on the node, as far as they could make room.
  LowerOn lower_on() const {
    return [this](std::size_t node, std::int64_t priority) {
      const Cluster& cluster = whole.standing->cluster();
      std::vector<Holding> holdings;
      for (const Ask& request : whole.decisions.requests) {
        const auto place = places().find(request.key);
        if (place == places().end() || place->second.node != cluster.nodes()[node].id) continue;
        if (request.priority >= priority || model::is_pinned(*request.item)) continue;
        const auto runtime = cluster.find_runtime(node, place->second.runtime);
        holdings.push_back(cluster.holding_for(request, {node, *runtime}));
      }
      return holdings;
    };
  }

  const std::map<model::InstanceKey, model::Place>& places() const {
    if (places_.empty()) {
      for (const Placement& placed : whole.decisions.plan.placements) {
        places_.emplace(placed.key, placed.place);
      }
    }
    return places_;
  }

  const model::Manifest manifest;
  const Snapshot snapshot;
  WholePlan whole;

 private:
  mutable std::map<model::InstanceKey, model::Place> places_;
};

Keys refused_by(const Plan& plan) {
  Keys keys;
  for (const Refusal& refusal : plan.refused) keys.insert(refusal.key);
  return keys;
}

bool keeps_all_but(const Plan& plan, const Keys& others) {
  return std::ranges::all_of(plan.placements, [&](const Placement& placed) {
    return others.contains(placed.key) || placed.action == Action::Keep;
  });
}

template <class Decision>
std::vector<Decision> only(const std::vector<Decision>& decisions, const Keys& keys) {
  std::vector<Decision> chosen;
  std::ranges::copy_if(decisions, std::back_inserter(chosen),
                       [&](const Decision& decision) { return keys.contains(decision.key); });
  return chosen;
}

// Several services more, each a few times.
model::Manifest with_more(model::Manifest manifest, Random& random, const char* name = "more") {
  const std::uint64_t count = 1 + random.below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    Arrival arrival = an_arrival({}, random);
    arrival.item.id =
        model::ItemId{fmt::format("{}-{}-{}", random.below(2) == 0 ? "a" : "z", name, i)};
    arrival.run.item = arrival.item.id;
    arrival.run.priority = random.between(0, 4);
    arrival.run.instances = static_cast<std::uint32_t>(1 + random.below(3));
    manifest.emplace_back(arrival.item);
    manifest.emplace_back(model::Deployment{arrival.item.id.value(), {arrival.run}});
  }
  return manifest;
}

Loads some_loads(const model::Manifest& manifest, Random& random) {
  Loads loads(snapshot_of(manifest).nodes.size());
  for (model::Usage& load : loads) {
    load = {Dmips{random.between(0, 6) * 50}, Bytes{random.between(0, 6) * 50}};
  }
  return loads;
}

// Some nodes are for nobody: most of what ran there has gone when it is settled.
model::Manifest with_drained(model::Manifest manifest, Random& random) {
  if (random.below(3) != 0) return manifest;
  for (model::Document& document : manifest) {
    auto* node = std::get_if<model::Node>(&document);
    if (node != nullptr && random.below(4) == 0) node->cordoned = node->draining = true;
  }
  return manifest;
}

void for_settled(const std::function<void(Settled&, Random&)>& check) {
  for (const ClusterShape& shape : {ClusterShape{}, kCrowded, kBusy}) {
    for_random_clusters(
        [&](const model::Manifest& drawn, Random& random) {
          const model::Manifest manifest = with_drained(drawn, random);
          const Loads loads = some_loads(manifest, random);
          Settled settled(random.below(2) == 0 ? manifest : with_more(manifest, random), loads);
          if (settled.whole.standing) check(settled, random);
        },
        shape);
  }
}

Loads loads_of(const Snapshot& snapshot) {
  Loads loads;
  for (const SnapshotNode& node : snapshot.nodes) loads.push_back(node.system_usage);
  return loads;
}

TEST(StandingPlan, PlacesMoreAsAPlanOfEverything) {
  int placed = 0;
  int refused = 0;
  for_settled([&](Settled& settled, Random& random) {
    const model::Manifest more = with_more(settled.manifest, random, "new");
    const Snapshot after = loaded(more, loads_of(settled.snapshot));
    std::vector<Ask> requests = expand(after);
    std::erase_if(requests, [](const Ask& request) {
      return request.key.item.value().find("-new-") == std::string::npos;
    });
    Keys keys;
    for (const Ask& request : requests) keys.insert(request.key);
    const auto decisions = settled.whole.standing->add(requests);
    if (!decisions) return;  // somebody would have to make room
    const Plan all = make_plan(after, {.verdicts = Verdicts::HintOnly, .answers = Answers::Kept});
    EXPECT_EQ(decisions->plan.placements, only(all.placements, keys));
    EXPECT_EQ(decisions->plan.refused, only(all.refused, keys));
    EXPECT_TRUE(keeps_all_but(all, keys));
    placed += static_cast<int>(decisions->plan.placements.size());
    refused += static_cast<int>(decisions->plan.refused.size());
  });
  EXPECT_GT(placed, 300);
  EXPECT_GT(refused, 500);
}

TEST(StandingPlan, KnowsWhomAnotherLoadCannotHelp) {
  int helped = 0;
  int not_helped = 0;
  for_settled([&](Settled& settled, Random& random) {
    if (settled.whole.decisions.plan.refused.empty()) return;
    Snapshot after = settled.snapshot;
    const std::size_t node = random.below(after.nodes.size());
    model::Usage& usage = after.nodes[node].system_usage;
    const auto less = [&](std::int64_t amount) {
      return random.below(4) != 0 ? amount * random.between(0, 9) / 10 : amount + 10;
    };
    usage = {Dmips{less(usage.cpu.count())}, Bytes{less(usage.ram.count())}};
    const bool may = settled.whole.standing->set_system_usage(node, usage, settled.lower_on());
    const Plan all = make_plan(after, {});
    const bool is_same = refused_by(all) == refused_by(settled.whole.decisions.plan);
    EXPECT_TRUE(may || (is_same && keeps_all_but(all, {})));
    helped += is_same ? 0 : 1;
    not_helped += may ? 0 : 1;
  });
  EXPECT_GT(helped, 20);
  EXPECT_GT(not_helped, 200);
}

TEST(StandingPlan, KnowsWhomThoseWhoGoCannotHelp) {
  int helped = 0;
  int not_helped = 0;
  for_settled([&](Settled& settled, Random& random) {
    const auto& placements = settled.whole.decisions.plan.placements;
    if (placements.empty()) return;
    const model::InstanceKey gone = placements[random.below(placements.size())].key;
    const Asked request{{gone.item, gone.subject}};
    StandingPlan& standing = *settled.whole.standing;
    std::vector<Holding> holdings;
    Keys of_others = refused_by(settled.whole.decisions.plan);
    for (const Ask& each : settled.whole.decisions.requests) {
      if (each.key.item != gone.item || each.key.subject != gone.subject) continue;
      of_others.erase(each.key);
      const auto place = settled.places().find(each.key);
      if (place == settled.places().end()) continue;
      const std::size_t node = *standing.cluster().find(place->second.node);
      const std::size_t runtime = *standing.cluster().find_runtime(node, place->second.runtime);
      holdings.push_back(standing.cluster().holding_for(each, {node, runtime}));
    }
    const bool may = standing.let_go(holdings, settled.lower_on());
    const model::Manifest rest = without(settled.manifest, request);
    const Snapshot after = loaded(rest, loads_of(settled.snapshot));
    const Plan all = make_plan(after, {});
    const bool is_same = refused_by(all) == of_others;
    EXPECT_TRUE(may || (is_same && keeps_all_but(all, {})));
    helped += is_same ? 0 : 1;
    not_helped += may ? 0 : 1;
  });
  EXPECT_GT(helped, 10);
  EXPECT_GT(not_helped, 150);
}

}  // namespace
}  // namespace berth::placement
