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

// What holds for every cluster, tried on many random ones. A failure names the seed.
namespace berth::placement {
namespace {

constexpr std::uint64_t kSeeds = 400;

void for_random_clusters(const std::function<void(const model::Manifest&, Random&)>& check,
                         const ClusterShape& shape = {}) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const model::Manifest manifest = random_cluster(random, shape);
    check(manifest, random);
    if (::testing::Test::HasFatalFailure() || ::testing::Test::HasNonfatalFailure()) return;
  }
}

// Sums up, independently of the engine's ledger, what the plan puts where.
class Books {
 public:
  Books(const model::Manifest& manifest, const Plan& plan) : snapshot_(snapshot_of(manifest)) {
    for (const Placement& placement : plan.placements) {
      add(placement.place, item(placement.key, placement.version));
    }
    for (const Refusal& refusal : plan.refused) {
      if (!refusal.left_running) continue;
      const Present& present = snapshot_.present.at(refusal.key);
      const auto running = snapshot_.items.find({refusal.key.item, present.version});
      const bool known = running != snapshot_.items.end();
      add(present.place, known ? *running->second : item(refusal.key, refusal.version));
    }
  }

  // Everything that the placement takes is there, together with what all others take.
  void expect_room_for(const Placement& placement) const {
    const model::Item& asking = item(placement.key, placement.version);
    const SnapshotNode& node = view(placement.place.node);
    const Amounts asked = asked_on(asking, node);
    const Amounts& taken = by_node_.at(node.id);
    const model::Usage& capacity = node.info->capacity;
    expect_within("cpu", asked.cpu, taken.cpu + node.system_usage.cpu, capacity.cpu);
    expect_within("ram", asked.ram, taken.ram + node.system_usage.ram, capacity.ram);

    const model::Runtime& runtime = *model::find_runtime(*node.info, placement.place.runtime);
    const Amounts& of_runtime = by_runtime_.at(placement.place);
    if (runtime.limits.cpu != Dmips{}) {
      expect_within("cap on cpu", asked.cpu, of_runtime.cpu, runtime.limits.cpu);
    }
    if (runtime.limits.ram != Bytes{}) {
      expect_within("cap on ram", asked.ram, of_runtime.ram, runtime.limits.ram);
    }
    if (runtime.limits.instances != 0) {
      EXPECT_LE(counts_.at(placement.place), runtime.limits.instances);
    }
    expect_partition_holds(node, asked);
    for (const std::string& resource : taken_resources(asking)) expect_enough_of(resource, node);
  }

 private:
  const model::Item& item(const model::InstanceKey& instance, const std::string& version) const {
    return *snapshot_.items.at({instance.item, version});
  }
  const SnapshotNode& view(const model::NodeId& id) const {
    return *std::ranges::find(snapshot_.nodes, id, &SnapshotNode::id);
  }
  static Amounts asked_on(const model::Item& item, const SnapshotNode& node) {
    return asked_of(item, node.info->capacity, node.settings);
  }

  static void add_to(Amounts& sum, const Amounts& amounts) {
    sum.cpu += amounts.cpu;
    sum.ram += amounts.ram;
    sum.storage += amounts.storage;
    sum.state += amounts.state;
  }

  void add(const model::Place& place, const model::Item& item) {
    const auto known = std::ranges::find(snapshot_.nodes, place.node, &SnapshotNode::id);
    if (known == snapshot_.nodes.end()) return;
    const Amounts amounts = asked_on(item, *known);
    add_to(by_node_[place.node], amounts);
    add_to(by_runtime_[place], amounts);
    if (known->info->partitions.unit_wide) add_to(unit_wide_, amounts);
    ++counts_[place];
    for (const std::string& resource : taken_resources(item)) ++shared_[{place.node, resource}];
  }

  // Who asks for nothing takes no room away, so it fits anywhere.
  template <class Q>
  static void expect_within(const char* what, Q asked, Q taken, Q limit) {
    if (asked > Q{}) {
      EXPECT_LE(taken, limit) << what;
    }
  }

  void expect_partition_holds(const SnapshotNode& node, const Amounts& asked) const {
    const model::Partitions& size = node.info->partitions;
    const Amounts& taken = size.unit_wide ? unit_wide_ : by_node_.at(node.id);
    if (size.same_partition) {
      if (!size.storage) return;
      expect_within("partition", asked.storage + asked.state, taken.storage + taken.state,
                    *size.storage);
      return;
    }
    if (size.storage) expect_within("storage", asked.storage, taken.storage, *size.storage);
    if (size.state) expect_within("state", asked.state, taken.state, *size.state);
  }

  void expect_enough_of(const std::string& resource, const SnapshotNode& node) const {
    const auto& listed = node.info->shared_resources;
    const auto found = std::ranges::find(listed, resource, &model::SharedResource::name);
    ASSERT_NE(found, listed.end()) << resource;
    if (found->count != 0) {
      EXPECT_LE(shared_.at({node.id, resource}), found->count) << resource;
    }
  }

  const Snapshot snapshot_;
  std::map<model::NodeId, Amounts> by_node_;
  std::map<model::Place, Amounts> by_runtime_;
  std::map<model::Place, std::uint32_t> counts_;
  std::map<std::pair<model::NodeId, std::string>, std::uint32_t> shared_;
  Amounts unit_wide_;
};

TEST(RandomCluster, IsValid) {
  for_random_clusters([](const model::Manifest& manifest, Random&) {
    for (const model::Finding& finding : model::validate(manifest)) {
      ADD_FAILURE() << finding.path << ": " << finding.what;
    }
  });
}

bool is_new_place(const Placement& placement) {
  return placement.action == Action::Start || placement.from.has_value();
}

TEST(EveryPlan, NeverOvercommitsWhereItPlacesSomethingNew) {
  for_random_clusters([](const model::Manifest& manifest, Random&) {
    for (const Mode mode : {Mode::Run, Mode::Replan, Mode::RebalanceMinimal}) {
      const Plan plan = plan_of(manifest, {.mode = mode});
      const Books books(manifest, plan);
      for (const Placement& placement : plan.placements) {
        if (is_new_place(placement) || mode == Mode::Replan) books.expect_room_for(placement);
      }
    }
  });
}

TEST(EveryPlan, DecidesAboutEveryInstanceOnce) {
  for_random_clusters([](const model::Manifest& manifest, Random&) {
    for (const Mode mode : {Mode::Run, Mode::Replan, Mode::RebalanceMinimal, Mode::RebalanceFull}) {
      const Snapshot snapshot = snapshot_of(manifest);
      const Plan plan = make_plan(snapshot, {.mode = mode});
      std::map<model::InstanceKey, int> decided;
      std::map<model::InstanceKey, int> accounted;  // for what runs
      for (const Placement& placement : plan.placements) {
        ++decided[placement.key];
        ++accounted[placement.key];
      }
      for (const Refusal& refusal : plan.refused) {
        ++decided[refusal.key];
        if (refusal.left_running) ++accounted[refusal.key];
      }
      for (const Stop& stop : plan.stops) ++accounted[stop.key];
      for (const Request& request : expand(snapshot)) EXPECT_EQ(decided[request.key], 1);
      for (const auto& [instance, present] : snapshot.present) EXPECT_EQ(accounted[instance], 1);
    }
  });
}

Plan without_answers(Plan plan) {
  for (Placement& placement : plan.placements) {
    placement.answers = {};
    placement.made_room_for.reset();
  }
  for (Refusal& refusal : plan.refused) {
    refusal.answers = {};
    refusal.made_room_for.reset();
  }
  return plan;
}

void expect_a_few_nodes_once(const model::NodeAnswers& answers, const Snapshot& snapshot) {
  EXPECT_LE(answers.nodes.size(), kAnswersMax);
  EXPECT_EQ(answers.nodes.size() + answers.left_out, snapshot.nodes.size());
  std::size_t next = 0;
  for (const SnapshotNode& node : snapshot.nodes) {
    if (next < answers.nodes.size() && answers.nodes[next].node == node.id) ++next;
  }
  EXPECT_EQ(next, answers.nodes.size()) << "each once, in the order of the cluster";
}

TEST(EveryPlan, IsTheSameWhetherOrNotTheAnswersAreKept) {
  int kept = 0;
  for_random_clusters(
      [&](const model::Manifest& manifest, Random&) {
        const Snapshot snapshot = snapshot_of(manifest);
        for (const Mode mode :
             {Mode::Run, Mode::Replan, Mode::RebalanceMinimal, Mode::RebalanceFull}) {
          const Plan plan = make_plan(snapshot, {.mode = mode, .answers = Answers::Kept});
          EXPECT_EQ(without_answers(plan), make_plan(snapshot, {.mode = mode}));
          for (const Placement& placement : plan.placements) {
            if (placement.answers.nodes.empty()) continue;
            ++kept;
            expect_a_few_nodes_once(placement.answers, snapshot);
            const auto chosen = std::ranges::find(placement.answers.nodes, placement.place.node,
                                                  &model::NodeAnswer::node);
            ASSERT_NE(chosen, placement.answers.nodes.end());
            EXPECT_FALSE(chosen->reason);
          }
          for (const Refusal& refusal : plan.refused) {
            if (!refusal.left_running) expect_a_few_nodes_once(refusal.answers, snapshot);
          }
        }
      },
      {.nodes_max = 12});
  EXPECT_GT(kept, 1000) << "too little was placed";
}

// What was kept in figures says the same, in words, as the verdicts of a plan.
TEST(EveryPlan, KeepsAnswersThatSayWhatTheVerdictsSay) {
  for_random_clusters([](const model::Manifest& manifest, Random&) {
    const Plan plan = plan_of(manifest, {.answers = Answers::Kept});
    for (const Refusal& refusal : plan.refused) {
      if (refusal.answers.left_out > 0) continue;
      ASSERT_EQ(refusal.answers.nodes.size(), refusal.nodes.size());
      for (std::size_t i = 0; i < refusal.nodes.size(); ++i) {
        const NodeVerdict answered = verdict_of(refusal.answers.nodes[i], nullptr);
        const auto said = std::ranges::find(refusal.nodes, answered.node, &NodeVerdict::node);
        ASSERT_NE(said, refusal.nodes.end());
        EXPECT_EQ(answered.reason, said->reason);
        EXPECT_EQ(answered.detail, said->detail);
      }
    }
  });
}

template <class T>
void shuffle(std::vector<T>& values, Random& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
}

TEST(EveryPlan, IsTheSameInAnyOrderOfTheDocuments) {
  for_random_clusters([](const model::Manifest& manifest, Random& random) {
    model::Manifest shuffled = manifest;
    shuffle(shuffled, random);
    for (model::Document& document : shuffled) {
      if (auto* node = std::get_if<model::Node>(&document)) shuffle(node->running, random);
    }
    for (const Mode mode : {Mode::Run, Mode::Replan, Mode::RebalanceMinimal, Mode::RebalanceFull}) {
      EXPECT_EQ(plan_of(manifest, {.mode = mode}), plan_of(shuffled, {.mode = mode}));
    }
  });
}

TEST(EveryPlan, GivesTheSameReasonsWithoutVerdicts) {
  for_random_clusters([](const model::Manifest& manifest, Random&) {
    const Plan full = plan_of(manifest);
    const Plan brief = plan_of(manifest, {.verdicts = Verdicts::ReasonOnly});
    EXPECT_EQ(full.placements, brief.placements);
    EXPECT_EQ(full.stops, brief.stops);
    ASSERT_EQ(full.refused.size(), brief.refused.size());
    for (std::size_t i = 0; i < full.refused.size(); ++i) {
      EXPECT_EQ(full.refused[i].key, brief.refused[i].key);
      EXPECT_EQ(full.refused[i].reason, brief.refused[i].reason);
    }
  });
}

TEST(EveryPlan, GivesAHintWithEachRefusal) {
  for_random_clusters([](const model::Manifest& manifest, Random&) {
    for (const Mode mode : {Mode::Run, Mode::Replan, Mode::RebalanceMinimal, Mode::RebalanceFull}) {
      for (const Refusal& refusal : plan_of(manifest, {.mode = mode}).refused) {
        EXPECT_NE(refusal.hint, "") << model::to_string(refusal.key);
      }
    }
  });
}

// With much room and no trouble, so that plans without refusals are common.
const ClusterShape kCalm{
    .nodes_max = 8, .items_max = 3, .requests_max = 3, .instances_max = 2, .trouble_ppm = 0};

TEST(EveryPlan, ChangesNothingOnceItIsCarriedOut) {
  int tried = 0;
  for_random_clusters(
      [&](const model::Manifest& manifest, Random&) {
        const Plan plan = plan_of(manifest);
        if (!plan.refused.empty()) return;
        ++tried;
        const Plan again = plan_of(carried_out(manifest, plan));
        EXPECT_FALSE(changes_anything(again));
        ASSERT_EQ(again.placements.size(), plan.placements.size());
        for (std::size_t i = 0; i < plan.placements.size(); ++i) {
          EXPECT_EQ(again.placements[i].place, plan.placements[i].place);
          EXPECT_EQ(again.placements[i].image, plan.placements[i].image);
        }
      },
      kCalm);
  EXPECT_GT(tried, 30) << "too few plans without refusals to prove anything";
}

// A cluster, and one more service to come.
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

const model::InstanceKey kArriving = key("new");

using Asked = std::set<std::pair<model::ItemId, model::SubjectId>>;

// The cluster where these are neither asked for nor running. Each deployment asks for one thing.
model::Manifest without(model::Manifest manifest, const Asked& gone) {
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
model::Manifest settle(const model::Manifest& manifest) {
  const Plan plan = plan_of(manifest);
  Asked given_up;
  for (const Refusal& refusal : plan.refused) {
    given_up.emplace(refusal.key.item, refusal.key.subject);
  }
  return without(carried_out(manifest, plan), given_up);
}

Arrival an_arrival(model::Manifest cluster, Random& random) {
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

bool moves_anybody(const Plan& plan) {
  return !plan.stops.empty() || std::ranges::any_of(plan.placements, [](const Placement& placed) {
    return placed.key != kArriving && placed.action != Action::Keep;
  });
}

// Few nodes and much to run on them.
const ClusterShape kCrowded{.nodes_max = 3, .items_max = 8, .requests_max = 14, .trouble_ppm = 0};

constexpr std::int64_t kLowest = -1;
constexpr std::int64_t kHighest = 100;

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

// --- hints ---

struct Words {
  explicit Words(const std::string& text) {
    for (std::size_t from = 0; from < text.size();) {
      const std::size_t to = std::min(text.find(' ', from), text.size());
      words.push_back(text.substr(from, to - from));
      from = to + 1;
    }
  }
  std::vector<std::string> words;
};

std::int64_t bytes_of(const std::string& count, const std::string& unit) {
  const std::map<std::string, std::int64_t> units{{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}};
  return std::stoll(count) * units.at(unit);
}

// "n1" or "n1/runc"
struct Target {
  Target(model::Manifest& manifest, const std::string& name) {
    const std::size_t slash = name.find('/');
    for (model::Document& document : manifest) {
      auto* listed = std::get_if<model::Node>(&document);
      if (listed == nullptr) continue;
      if (listed->id.value() == name.substr(0, slash)) node = listed;
      if (listed->info.partitions.unit_wide) unit_wide.push_back(listed);
    }
    CHECK(node != nullptr, "a hint names a node that is there");
    if (slash == std::string::npos) return;
    for (model::Runtime& candidate : node->info.runtimes) {
      if (candidate.id.value() == name.substr(slash + 1)) runtime = &candidate;
    }
    CHECK(runtime != nullptr, "a hint names a runtime that is there");
  }

  std::vector<model::Node*> sharing_the_partition() const {
    return node->info.partitions.unit_wide ? unit_wide : std::vector{node};
  }

  model::Node* node = nullptr;
  model::Runtime* runtime = nullptr;
  std::vector<model::Node*> unit_wide;
};

// A share of the capacity would grow with the node that is made bigger.
model::Manifest without_default_requests(model::Manifest manifest) {
  for (model::Document& document : manifest) {
    if (auto* config = std::get_if<model::NodeConfig>(&document)) config->default_request.reset();
  }
  return manifest;
}

// Each does what one sort of hint says, and gives false if it is of another sort. Nodes are made
// bigger instead of freeing room on them.
bool carry_out_free(model::Manifest& manifest, const std::vector<std::string>& words) {
  if (words.size() < 5 || words[0] != "free") return false;
  if (words[2] != "DMIPS" && words.size() != 7) return false;
  const Target target(manifest, words.back());
  if (words[2] == "DMIPS") {
    const Dmips more{std::stoll(words[1])};
    target.node->info.capacity.cpu += more;
    if (target.runtime != nullptr) target.runtime->limits.cpu += more;
    return true;
  }
  const Bytes more{bytes_of(words[1], words[2])};
  if (words[4] == "ram") {
    target.node->info.capacity.ram += more;
    if (target.runtime != nullptr) target.runtime->limits.ram += more;
    return true;
  }
  for (model::Node* node : target.sharing_the_partition()) {
    model::Partitions& partitions = node->info.partitions;
    const bool one_counter = partitions.same_partition || words[4] == "storage";
    *(one_counter ? partitions.storage : partitions.state) += more;
  }
  return true;
}

// "free camera on n1", "free 2 camera on n1", "add camera to n1"
bool carry_out_resource(model::Manifest& manifest, const std::vector<std::string>& words) {
  const bool free = words[0] == "free" && (words.size() == 4 || words.size() == 5);
  const bool add = words[0] == "add" && words.size() == 4;
  if (!free && !add) return false;
  auto& listed = Target(manifest, words.back()).node->info.shared_resources;
  if (add) return listed.push_back({words[1], 0}), true;
  const std::string& name = words[words.size() - 3];
  const auto resource = std::ranges::find(listed, name, &model::SharedResource::name);
  CHECK(resource != listed.end(), "only what is listed can be freed");
  resource->count += words.size() == 5 ? static_cast<std::uint32_t>(std::stoul(words[1])) : 1;
  return true;
}

// "stop an instance on n1/runc", "stop 2 instances on n1/runc"
bool carry_out_stop(model::Manifest& manifest, const std::vector<std::string>& words) {
  if (words.size() != 5 || words[0] != "stop") return false;
  const auto more = words[1] == "an" ? 1 : static_cast<std::uint32_t>(std::stoul(words[1]));
  Target(manifest, words[4]).runtime->limits.instances += more;
  return true;
}

bool carry_out_connect(model::Manifest& manifest, const std::vector<std::string>& words) {
  if (words.size() == 2 && words[0] == "connect") {
    return Target(manifest, words[1]).node->connected = true;
  }
  if (words.size() < 3 || words[0] != "make" || words[2] != "provisioned") return false;
  Target(manifest, words[1]).node->info.state = model::NodeState::Provisioned;
  return true;
}

// "ask for 100 DMIPS less, which n1 would have", "ask for 1 KiB of ram less, which ..."
bool carry_out_ask(model::Manifest& manifest, const std::vector<std::string>& words) {
  if (words.size() < 6 || words[0] != "ask") return false;
  for (model::Document& document : manifest) {
    auto* item = std::get_if<model::Item>(&document);
    if (item == nullptr || item->id != kArriving.item) continue;
    if (words[3] == "DMIPS") {
      *item->request.cpu -= Dmips{std::stoll(words[2])};
    } else if (words[5] == "ram") {
      *item->request.ram -= Bytes{bytes_of(words[2], words[3])};
    } else {
      return false;
    }
  }
  return true;
}

bool carry_out_label(model::Manifest& manifest, const std::vector<std::string>& words) {
  if (words.size() < 3 || words[0] != "label") return false;
  const Snapshot snapshot = snapshot_of(manifest);
  const auto node = std::ranges::find(snapshot.nodes, model::NodeId{words[1]}, &SnapshotNode::id);
  CHECK(node != snapshot.nodes.end(), "a hint names a node that is there");
  model::NodeConfig config;
  config.name = "as-hinted";
  config.node = node->id;
  config.labels = node->settings.labels;
  config.labels->insert(words.begin() + 2, words.end());
  manifest.emplace_back(std::move(config));
  return true;
}

bool carry_out_uncordon(model::Manifest& manifest, const std::vector<std::string>& words) {
  if (words.size() != 2 || words[0] != "uncordon") return false;
  Target(manifest, words[1]).node->cordoned = false;
  return true;
}

bool carry_out_allow(model::Manifest& manifest, const std::vector<std::string>& words) {
  if (words.size() != 3 || words[0] != "allow") return false;
  for (model::Document& document : manifest) {
    auto* deployment = std::get_if<model::Deployment>(&document);
    if (deployment == nullptr || deployment->name != "arrival") continue;
    deployment->run.front().nodes.emplace_back(words[2]);
  }
  return true;
}

bool carry_out_repair(model::Manifest& manifest, const std::vector<std::string>& words) {
  if (words.size() != 6 || words[0] != "repair") return false;
  Target(manifest, words[4] + "/" + words[2]).runtime->ready = model::Readiness::Ready;
  return true;
}

bool carry_out(model::Manifest& manifest, const std::string& change) {
  const std::vector<std::string> words = Words(change).words;
  return carry_out_free(manifest, words) || carry_out_resource(manifest, words) ||
         carry_out_stop(manifest, words) || carry_out_label(manifest, words) ||
         carry_out_uncordon(manifest, words) || carry_out_allow(manifest, words) ||
         carry_out_repair(manifest, words) || carry_out_connect(manifest, words) ||
         carry_out_ask(manifest, words);
}

std::vector<std::string> split(std::string text, const std::string& by) {
  std::vector<std::string> parts;
  for (std::size_t at = text.find(by); at != std::string::npos; at = text.find(by)) {
    parts.push_back(text.substr(0, at));
    text.erase(0, at + by.size());
  }
  parts.push_back(text);
  return parts;
}

// Whether the two plans decide the same about all but the arriving one. If a change helps somebody
// else, who then takes what was meant for it, the hint was still true.
bool others_are_the_same(Plan a, Plan b) {
  for (Plan* plan : {&a, &b}) {
    std::erase_if(plan->placements, [](const auto& one) { return one.key == kArriving; });
    std::erase_if(plan->refused, [](const auto& one) { return one.key == kArriving; });
  }
  return a.placements == b.placements &&
         std::ranges::equal(a.refused, b.refused, {}, &Refusal::key, &Refusal::key);
}

TEST(OneMoreService, FitsWhenTheHintIsFollowed) {
  std::map<std::string, int> followed;
  const auto check = [&](const model::Manifest& manifest, Random& random) {
    Arrival arrival = an_arrival(without_default_requests(manifest), random);
    arrival.item.balancing = model::Balancing::Disabled;  // or others could displace it again
    const model::Manifest before = arrival.at_priority(kLowest);
    const Plan plan = plan_of(before);
    const Refusal* refusal = refusal_of(plan, kArriving);
    if (refusal == nullptr) return;
    for (const std::string& alternative : split(refusal->hint, ", or ")) {
      model::Manifest after = before;
      const auto changes = split(alternative, " and ");
      const auto follow = [&](const std::string& change) { return carry_out(after, change); };
      if (!std::ranges::all_of(changes, follow)) continue;
      const Plan with_changes = plan_of(after);
      if (!others_are_the_same(plan, with_changes)) continue;
      ++followed[changes.size() > 1 ? "several" : Words(alternative).words.front()];
      EXPECT_NE(place_of(with_changes, kArriving), "") << refusal->hint;
    }
  };
  for_random_clusters(check, kCrowded);
  for_random_clusters(check, {.nodes_max = 2, .trouble_ppm = 300'000});
  for (const char* sort :
       {"free", "ask", "stop", "label", "uncordon", "repair", "connect", "add", "several"}) {
    EXPECT_GE(followed[sort], 3) << "too few hints of the sort " << sort << " to prove anything";
  }
}

}  // namespace
}  // namespace berth::placement
