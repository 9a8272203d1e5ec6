#include "placement/testing_plans.h"

// What holds for every cluster, tried on many random ones. A failure names the seed.
namespace berth::placement {
namespace {

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
      for (const Ask& request : expand(snapshot)) EXPECT_EQ(decided[request.key], 1);
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
  const auto nodes = answers.nodes();
  EXPECT_LE(nodes.size(), kAnswersMax);
  EXPECT_EQ(nodes.size() + answers.left_out, snapshot.nodes.size());
  std::size_t next = 0;
  for (const SnapshotNode& node : snapshot.nodes) {
    if (next < nodes.size() && nodes[next].node == node.id) ++next;
  }
  EXPECT_EQ(next, nodes.size()) << "each once, in the order of the cluster";
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
            const auto nodes = placement.answers.nodes();
            if (nodes.empty()) continue;
            ++kept;
            expect_a_few_nodes_once(placement.answers, snapshot);
            const auto chosen =
                std::ranges::find(nodes, placement.place.node, &model::NodeAnswer::node);
            ASSERT_NE(chosen, nodes.end());
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
      const auto answers = refusal.answers.nodes();
      ASSERT_EQ(answers.size(), refusal.nodes.size());
      for (std::size_t i = 0; i < refusal.nodes.size(); ++i) {
        const NodeVerdict answered = verdict_of(answers[i], nullptr);
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

}  // namespace
}  // namespace berth::placement
