#include "placement/pipeline.h"
#include "placement/testing_plans.h"

// A plan is at rest: who looked again would find nothing to change. And who runs gives way to
// higher priorities only.
namespace berth::placement {
namespace {

void expect_the_same(const Refusal& again, const Refusal& refusal) {
  EXPECT_EQ(again, refusal) << model::to_string(refusal.key) << ": "
                            << model::to_string(refusal.reason) << ", " << refusal.hint << "; then "
                            << model::to_string(again.key) << ": " << model::to_string(again.reason)
                            << ", " << again.hint;
}

void expect_nothing_changes(const Plan& again, const Plan& plan) {
  EXPECT_FALSE(changes_anything(again));
  ASSERT_EQ(again.placements.size(), plan.placements.size());
  for (std::size_t i = 0; i < plan.placements.size(); ++i) {
    EXPECT_EQ(again.placements[i].key, plan.placements[i].key);
    EXPECT_EQ(again.placements[i].place, plan.placements[i].place);
    EXPECT_EQ(again.placements[i].image, plan.placements[i].image);
  }
  ASSERT_EQ(again.refused.size(), plan.refused.size());
  for (std::size_t i = 0; i < plan.refused.size(); ++i) {
    expect_the_same(again.refused[i], plan.refused[i]);
  }
}

// An index stays with its runtime, also where nothing runs.
void bind_indices(const Snapshot& before, Snapshot& after) {
  after.bound = before.bound;
  for (const Ask& request : expand(before)) {
    if (request.own_runtime) after.bound.insert_or_assign(request.key, *request.own_runtime);
  }
}

void expect_at_rest(const model::Manifest& manifest, const Plan& plan) {
  const model::Manifest then = carried_out(manifest, plan);
  Snapshot snapshot = snapshot_of(then);
  bind_indices(snapshot_of(manifest), snapshot);
  expect_nothing_changes(make_plan(snapshot, {}), plan);
  // Nor while what has got a place there waits for those to go who were there before.
  for (const Placement& placement : plan.placements) {
    const bool comes = placement.action == Action::Start || placement.from.has_value();
    if (comes) snapshot.present.at(placement.key).untold = true;
  }
  expect_nothing_changes(make_plan(snapshot, {}), plan);
}

const ClusterShape kCalm{
    .nodes_max = 8, .items_max = 3, .requests_max = 3, .instances_max = 2, .trouble_ppm = 0};
// Many priorities that get into each other's way, also where nodes are in trouble.
const ClusterShape kFull{
    .nodes_max = 6, .items_max = 10, .requests_max = 20, .running_ppm = 700'000};

// Services that differ in nothing but what they ask for, on too little room: almost everybody is in
// somebody's way.
model::Manifest a_squeeze(Random& random) {
  const auto steps = [&](std::uint64_t most) {
    return static_cast<std::int64_t>(random.below(most + 1)) * 10;
  };
  std::vector<NodeBuilder> nodes;
  for (const char* id : {"n1", "n2", "n3", "n4"}) {
    nodes.push_back(a_node(id).with_cpu(50 + steps(10)).with_ram(50 + steps(10)));
  }
  model::Manifest manifest;
  for (const char* id : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}) {
    ItemBuilder item = an_item(id).asking_cpu(steps(8)).asking_ram(steps(8));
    if (random.below(6) == 0) item.pinned();
    manifest.emplace_back(item);
    const bool updated = random.below(4) == 0;
    if (updated) manifest.emplace_back(item.with_version("2").asking_cpu(steps(8)));
    model::RunRequest run;
    run.item = model::ItemId{id};
    run.version = updated ? "2" : "1";
    run.subject = model::SubjectId{"x"};
    run.priority = random.between(0, 4);
    run.instances = 1;
    if (random.below(3) == 0) run.nodes = {model::NodeId{"n1"}, model::NodeId{"n2"}};
    manifest.emplace_back(model::Deployment{id, {run}});
    if (random.below(3) != 0) nodes[random.below(nodes.size())].running(id, 0);
  }
  for (const NodeBuilder& node : nodes) manifest.emplace_back(node);
  return manifest;
}

void for_squeezes(const std::function<void(const model::Manifest&, Random&)>& check) {
  for_random_clusters(
      [&](const model::Manifest&, Random& random) { check(a_squeeze(random), random); },
      {.nodes_max = 1, .items_max = 1, .requests_max = 1});
}

void drain_some(model::Manifest& manifest, Random& random) {
  for (model::Document& document : manifest) {
    if (auto* node = std::get_if<model::Node>(&document)) node->draining = random.below(4) == 0;
  }
}

TEST(EveryPlan, ChangesNothingOnceItIsCarriedOut) {
  int refused = 0;
  int stopped = 0;
  const auto check = [&](model::Manifest manifest, Random& random) {
    if (random.below(2) == 0) drain_some(manifest, random);
    const Plan plan = plan_of(manifest);
    refused += plan.refused.empty() ? 0 : 1;
    stopped += plan.stops.empty() ? 0 : 1;
    expect_at_rest(manifest, plan);
  };
  for (const ClusterShape& shape : {kCalm, ClusterShape{}, kCrowded, kFull}) {
    for_random_clusters(check, shape);
  }
  for_squeezes(check);
  EXPECT_GT(refused, 1000) << "too few plans with refusals to prove anything";
  EXPECT_GT(stopped, 500) << "too few plans with stops to prove anything";
}

// A cluster where all has come to rest, and several more services at once.
model::Manifest with_arrivals(const model::Manifest& manifest, Random& random, std::int64_t step) {
  model::Manifest settled = carried_out(manifest, plan_of(manifest));
  const std::uint64_t count = 1 + random.below(5);
  for (std::uint64_t i = 0; i < count; ++i) {
    Arrival arrival = an_arrival({}, random);
    // Before or after all others of its priority.
    arrival.item.id = model::ItemId{fmt::format("{}-{}", random.below(2) == 0 ? "a" : "z", i)};
    arrival.item.request = {
        Dmips{random.between(0, 8) * step}, Bytes{random.between(0, 8) * step}, {}, {}};
    arrival.run.item = arrival.item.id;
    arrival.run.priority = random.between(0, 4);
    settled.emplace_back(arrival.item);
    settled.emplace_back(model::Deployment{fmt::format("arrival-{}", i), {arrival.run}});
  }
  return settled;
}

// Who ran where, and what is left there when the plan is carried out.
class Aftermath {
 public:
  explicit Aftermath(const model::Manifest& manifest)
      : snapshot_(snapshot_of(manifest)),
        requests_(expand(snapshot_)),
        plan_(make_plan(snapshot_, {.answers = Answers::Kept})) {
    for (const Ask& request : requests_) by_key_.emplace(request.key, &request);
  }

  const Plan& plan() const { return plan_; }

  bool runs(const model::InstanceKey& instance) const {
    return request(instance).present != nullptr;
  }

  void expect_a_higher_priority_came(const model::InstanceKey& instance,
                                     const std::optional<model::InstanceKey>& newcomer) const {
    ASSERT_TRUE(newcomer) << model::to_string(instance);
    EXPECT_GT(priority(*newcomer), priority(instance)) << model::to_string(instance);
  }

  // Nor has an equal that did not run taken what the higher priorities have left of its room.
  void expect_no_room_without_its_equals(const model::InstanceKey& instance) const {
    const Ask& stopped = request(instance);
    EXPECT_FALSE(fits(stopped, stopped.present->place, without_newcomers_up_to(priority(instance))))
        << model::to_string(instance) << " could have stayed on "
        << model::to_string(stopped.present->place);
  }

 private:
  const Ask& request(const model::InstanceKey& instance) const { return *by_key_.at(instance); }
  std::int64_t priority(const model::InstanceKey& instance) const {
    return request(instance).priority;
  }

  std::size_t node_of(const model::Place& place) const {
    const auto node = std::ranges::find(snapshot_.nodes, place.node, &SnapshotNode::id);
    return static_cast<std::size_t>(node - snapshot_.nodes.begin());
  }

  // nullopt: it is gone.
  std::optional<std::size_t> runtime_of(const model::Place& place) const {
    const auto& runtimes = snapshot_.nodes[node_of(place)].info->runtimes;
    const auto runtime = std::ranges::find(runtimes, place.runtime, &model::Runtime::id);
    if (runtime == runtimes.end()) return std::nullopt;
    return static_cast<std::size_t>(runtime - runtimes.begin());
  }

  bool fits(const Ask& asking, const model::Place& place, const Ledger& ledger) const {
    const Pipeline pipeline(snapshot_.nodes, ledger, Measuring::Requested, nullptr);
    for (std::uint32_t image = 0; image < asking.item->images.size(); ++image) {
      const auto refusals =
          pipeline.all_refusals(asking, image, node_of(place), runtime_of(place), Purpose::Place);
      if (refusals.empty()) return true;
    }
    return false;
  }

  // What runs before the plan is carried out.
  Ledger before() const {
    Ledger ledger(snapshot_.nodes, Ledger::Capacity::Full);
    for (const auto& [instance, present] : snapshot_.present) {
      const auto item = snapshot_.items.find({instance.item, present.version});
      if (item != snapshot_.items.end()) ledger.reserve(holding(*item->second, present.place));
    }
    return ledger;
  }

  // Whether it has found a place that was not free.
  bool takes_room(const Placement& placement) const {
    return placement.action == Action::Start &&
           !fits(request(placement.key), placement.place, before());
  }

  Ledger without_newcomers_up_to(std::int64_t highest) const {
    Ledger ledger(snapshot_.nodes, Ledger::Capacity::Full);
    for (const Placement& placement : plan_.placements) {
      if (takes_room(placement) && priority(placement.key) <= highest) continue;
      ledger.reserve(holding(*request(placement.key).item, placement.place));
    }
    for (const Refusal& refusal : plan_.refused) {
      const Ask& left = request(refusal.key);
      if (!refusal.left_running || left.present_item == nullptr) continue;
      ledger.reserve(holding(*left.present_item, left.present->place));
    }
    return ledger;
  }

  Holding holding(const model::Item& item, const model::Place& place) const {
    const SnapshotNode& node = snapshot_.nodes[node_of(place)];
    return {.node = node_of(place),
            .runtime = runtime_of(place),
            .amounts = asked_of(item, node.info->capacity, node.settings),
            .shared_resources = taken_resources(item)};
  }

  const Snapshot snapshot_;
  const std::vector<Ask> requests_;
  const Plan plan_;
  std::map<model::InstanceKey, const Ask*> by_key_;
};

TEST(WhoRuns, GivesWayToHigherPrioritiesOnly) {
  int moved = 0;
  int stopped = 0;
  std::int64_t step = 50;
  const auto check = [&](const model::Manifest& manifest, Random& random) {
    const model::Manifest crowded = with_arrivals(manifest, random, step);
    const Aftermath after(crowded);
    for (const Placement& placement : after.plan().placements) {
      if (!placement.from) continue;
      ++moved;
      after.expect_a_higher_priority_came(placement.key, placement.made_room_for);
    }
    for (const Refusal& refusal : after.plan().refused) {
      if (!after.runs(refusal.key) || refusal.left_running) continue;
      ++stopped;
      after.expect_a_higher_priority_came(refusal.key, refusal.made_room_for);
      after.expect_no_room_without_its_equals(refusal.key);
    }
    expect_at_rest(crowded, plan_of(crowded));
  };
  for_random_clusters(check, kCrowded);
  step = 10;
  for_squeezes(check);
  EXPECT_GT(moved, 20) << "too few make room to prove anything";
  EXPECT_GT(stopped, 100) << "too few make room to prove anything";
}

}  // namespace
}  // namespace berth::placement
