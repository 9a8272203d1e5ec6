#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/random.h"
#include "placement/plan.h"
#include "placement/testing.h"

// A minimal rebalance against a plain reference: all subsets of what an overloaded node runs, each
// tried in the order that ADR 16 gives. The clusters are small, and as simple as the question.
namespace berth::placement {
namespace {

constexpr std::uint64_t kRelieveSeeds = 1000;
constexpr std::int64_t kRelieveCapacity = 1000;

struct Service {
  std::string name;
  std::int64_t priority = 0;
  bool pinned = false;
  std::int64_t asked_cpu = 0;
  std::int64_t cpu = 0;  // measured
  std::int64_t ram = 0;
  std::size_t node = 0;
};

struct Machine {
  std::string name;
  std::int64_t used_cpu = 0;  // measured total
  std::int64_t used_ram = 0;
  std::int64_t system_cpu = 0;
  std::int64_t system_ram = 0;
  std::int64_t reserved_cpu = 0;
  std::int64_t reserved_ram = 0;
};

struct Rules {
  bool cpu = false;
  bool ram = false;
  std::int64_t min = 75;
  std::int64_t max = 85;
};

struct Example {
  Rules rules;
  std::vector<Machine> machines;
  std::vector<Service> services;

  Service& draw_service(Random& random, std::size_t node) {
    const auto number = services.size();
    return services.emplace_back(
        Service{.name = fmt::format("s{:02}", random.below(2) == 0 ? number : 50 - number),
                .priority = random.between(0, 2),
                .pinned = random.below(8) == 0,
                .asked_cpu = random.between(0, 4) * 25,
                .cpu = random.between(0, 12) * 25,
                .ram = random.between(0, 12) * 25,
                .node = node});
  }
};

Example draw(Random& random) {
  Example example;
  example.rules = {.cpu = random.below(4) != 0, .ram = random.below(2) != 0};
  if (random.below(4) == 0) example.rules.min = example.rules.max = 70;
  const std::size_t nodes = 2 + random.below(4);
  for (std::size_t n = 0; n < nodes; ++n) {
    Machine machine{.name = fmt::format("n{}", n)};
    const bool busy = n < 2;
    const std::uint64_t count = busy ? 2 + random.below(6) : random.below(3);
    machine.system_cpu = random.between(0, 3) * 50;
    machine.used_cpu = machine.system_cpu;
    for (std::uint64_t i = 0; i < count; ++i) {
      const Service& service = example.draw_service(random, n);
      machine.used_cpu += service.cpu;
      machine.used_ram += service.ram;
      machine.reserved_cpu += service.asked_cpu;
    }
    example.machines.push_back(machine);
  }
  return example;
}

model::Manifest manifest_of(const Example& example) {
  model::Manifest manifest;
  model::NodeConfig config;
  config.name = "t";
  config.thresholds.emplace();
  const model::ThresholdRule rule{.min = static_cast<std::uint32_t>(example.rules.min),
                                  .max = static_cast<std::uint32_t>(example.rules.max)};
  if (example.rules.cpu) config.thresholds->cpu = rule;
  if (example.rules.ram) config.thresholds->ram = rule;
  manifest.emplace_back(config);
  for (std::size_t n = 0; n < example.machines.size(); ++n) {
    const Machine& machine = example.machines[n];
    model::Node node = a_node(machine.name.c_str()).build();
    node.usage = model::Usage{Dmips{machine.used_cpu}, Bytes{machine.used_ram}};
    for (const Service& service : example.services) {
      if (service.node != n) continue;
      node.running.push_back({.key = key(service.name.c_str()),
                              .version = "1",
                              .runtime = model::RuntimeId{"p"},
                              .usage = {Dmips{service.cpu}, Bytes{service.ram}}});
    }
    manifest.emplace_back(node);
  }
  for (const Service& service : example.services) {
    ItemBuilder item = an_item(service.name.c_str()).asking_cpu(service.asked_cpu);
    if (service.pinned) item.pinned();
    manifest.emplace_back(item);
    manifest.push_back(a_run(service.name.c_str(), {.priority = service.priority}));
  }
  return manifest;
}

// What the reference thinks should happen: where everybody is in the end.
class BestOfAllSets {
 public:
  explicit BestOfAllSets(Example example) : example_(std::move(example)) {
    std::ranges::sort(example_.services, [](const Service& a, const Service& b) {
      return std::tuple(-a.priority, a.name) < std::tuple(-b.priority, b.name);
    });
    for (const Machine& machine : example_.machines) {
      hot_.push_back(is_above(machine.used_cpu, machine.used_ram, example_.rules.max));
    }
  }

  std::map<std::string, std::string> run() {
    std::vector<std::size_t> order;
    for (std::size_t n = 0; n < hot_.size(); ++n) {
      if (hot_[n].first || hot_[n].second) order.push_back(n);
    }
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t n) {
      return std::max(excess(n).first, excess(n).second);
    });
    for (const std::size_t node : order) relieve(node);
    std::map<std::string, std::string> places;
    for (const Service& service : example_.services) {
      places[service.name] = example_.machines[service.node].name;
    }
    return places;
  }

  std::size_t hot_count() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(hot_, [](const auto& hot) { return hot.first || hot.second; }));
  }

 private:
  using Set = std::vector<std::size_t>;  // services, in reverse scheduling order

  std::pair<bool, bool> is_above(std::int64_t cpu, std::int64_t ram, std::int64_t percent) const {
    return {example_.rules.cpu && cpu * 100 > kRelieveCapacity * percent,
            example_.rules.ram && ram * 100 > kRelieveCapacity * percent};
  }

  std::pair<std::int64_t, std::int64_t> excess(std::size_t n) const {
    const std::int64_t goal = kRelieveCapacity * example_.rules.min / 100;
    const Machine& machine = example_.machines[n];
    return {hot_[n].first ? std::max<std::int64_t>(machine.used_cpu - goal, 0) : 0,
            hot_[n].second ? std::max<std::int64_t>(machine.used_ram - goal, 0) : 0};
  }

  bool relieves(std::size_t node, const Set& set) const {
    std::int64_t cpu = 0;
    std::int64_t ram = 0;
    for (const std::size_t i : set) {
      cpu += example_.services[i].cpu;
      ram += example_.services[i].ram;
    }
    return cpu >= excess(node).first && ram >= excess(node).second;
  }

  bool could_one_stay(std::size_t node, const Set& set) const {
    return std::ranges::any_of(set, [&](std::size_t i) {
      Set rest = set;
      std::erase(rest, i);
      return relieves(node, rest);
    });
  }

  auto rank(const Set& set) const {
    std::int64_t priority = 0;
    std::int64_t load = 0;
    for (const std::size_t i : set) {
      const Service& service = example_.services[i];
      priority = std::max(priority, service.priority);
      load += service.cpu + service.ram;
    }
    Set from_the_end;
    for (const std::size_t i : set) from_the_end.push_back(example_.services.size() - i);
    return std::tuple(priority, set.size(), load, from_the_end);
  }

  void relieve(std::size_t node) {
    Set there;
    for (std::size_t i = example_.services.size(); i-- > 0;) {
      if (example_.services[i].node == node && !example_.services[i].pinned) there.push_back(i);
    }
    std::vector<Set> sets;
    for (std::uint64_t bits = 1; bits < std::uint64_t{1} << there.size(); ++bits) {
      Set set;
      for (std::size_t i = 0; i < there.size(); ++i) {
        if ((bits >> i & 1) != 0) set.push_back(there[i]);
      }
      if (relieves(node, set) && !could_one_stay(node, set)) sets.push_back(set);
    }
    std::ranges::sort(sets, {}, [&](const Set& set) { return rank(set); });
    for (const Set& set : sets) {
      if (move_all(set)) return;
    }
  }

  bool move_all(const Set& set) {
    const Example before = example_;
    for (auto it = set.rbegin(); it != set.rend(); ++it) {
      if (move(example_.services[*it])) continue;
      example_ = before;
      return false;
    }
    return true;
  }

  bool move(Service& service) {
    Machine& source = example_.machines[service.node];
    std::optional<std::size_t> best;
    for (std::size_t n = 0; n < example_.machines.size(); ++n) {
      if (!can_take(n, service)) continue;
      if (!best || room(n) > room(*best)) best = n;
    }
    if (!best) return false;
    Machine& target = example_.machines[*best];
    source.used_cpu -= service.cpu;
    source.used_ram -= service.ram;
    source.reserved_cpu -= service.asked_cpu;
    target.used_cpu += service.cpu;
    target.used_ram += service.ram;
    target.reserved_cpu += std::max(service.asked_cpu, service.cpu);
    target.reserved_ram += service.ram;
    service.node = *best;
    return true;
  }

  bool can_take(std::size_t n, const Service& service) const {
    if (hot_[n].first || hot_[n].second) return false;
    const Machine& machine = example_.machines[n];
    const auto above = is_above(machine.used_cpu + service.cpu, machine.used_ram + service.ram,
                                example_.rules.max);
    return !above.first && !above.second &&
           std::max(room(n).first, std::int64_t{0}) >= std::max(service.asked_cpu, service.cpu) &&
           std::max(room(n).second, std::int64_t{0}) >= service.ram;
  }

  std::pair<std::int64_t, std::int64_t> room(std::size_t n) const {
    const Machine& machine = example_.machines[n];
    return {kRelieveCapacity - machine.system_cpu - machine.reserved_cpu,
            kRelieveCapacity - machine.system_ram - machine.reserved_ram};
  }

  Example example_;
  std::vector<std::pair<bool, bool>> hot_;
};

TEST(MinimalRebalance, MovesExactlyWhatTryingAllSetsFindsBest) {
  std::map<std::size_t, int> moved_by_count;
  int several_hot = 0;
  int unrelieved = 0;
  for (std::uint64_t seed = 1; seed <= kRelieveSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const Example example = draw(random);
    const model::Manifest manifest = manifest_of(example);
    if (changes_anything(plan_of(manifest)) || !plan_of(manifest).refused.empty()) continue;

    BestOfAllSets reference(example);
    const Plan plan = plan_of(manifest, {.mode = Mode::RebalanceMinimal});
    const auto expected = reference.run();
    std::size_t moved = 0;
    for (const Placement& placement : plan.placements) {
      moved += placement.action == Action::Move ? 1U : 0U;
      EXPECT_EQ(placement.place.node.value(), expected.at(placement.key.item.value()))
          << placement.key.item.value();
    }
    ++moved_by_count[moved];
    several_hot += reference.hot_count() > 1 ? 1 : 0;
    EXPECT_EQ(plan.relief.size(), reference.hot_count());
    for (const Relief& relief : plan.relief) unrelieved += relief.unrelieved ? 1 : 0;
  }
  EXPECT_GT(moved_by_count[1], 50);
  EXPECT_GT(moved_by_count[2], 50);
  EXPECT_GT(moved_by_count[3], 10);
  EXPECT_GT(several_hot, 50);
  EXPECT_GT(unrelieved, 50);
}

}  // namespace
}  // namespace berth::placement
