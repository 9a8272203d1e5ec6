#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "placement/asked.h"
#include "placement/cluster/cluster.h"
#include "placement/random_cluster.h"
#include "placement/snapshot.h"

// The standing cluster against the plain scan: every place, to the last tie, in random worlds whose
// nodes come, go and change while instances come and go. A failure names the seed;
// BERTH_PLACEMENT_WORLDS=10000 looks at so many worlds.
namespace berth::placement {
namespace {

std::uint64_t worlds() {
  const char* asked = std::getenv("BERTH_PLACEMENT_WORLDS");
  return asked == nullptr ? 300 : std::strtoull(asked, nullptr, 10);
}

// The scan of all nodes, by the rules alone.
class Reference {
 public:
  explicit Reference(std::vector<SnapshotNode> nodes)
      : nodes_(std::move(nodes)), ledger_(nodes_, Ledger::Capacity::Full) {}

  Pipeline pipeline() const { return {nodes_, ledger_, Measuring::Requested, nullptr}; }
  Ledger& ledger() { return ledger_; }

 private:
  std::vector<SnapshotNode> nodes_;
  Ledger ledger_;
};

std::string to_text(const std::optional<Choice>& choice, const std::vector<SnapshotNode>& nodes) {
  if (!choice) return "nowhere";
  return fmt::format("{}/{} image {} cpu {} ram {}", nodes[choice->slot.node].id.value(),
                     choice->slot.runtime, choice->image, choice->asked.cpu.count(),
                     choice->asked.ram.count());
}

bool are_of_one_run(const Ask& a, const Ask& b) {
  return a.key.item == b.key.item && a.key.subject == b.key.subject;
}

class World {
 public:
  explicit World(std::uint64_t seed)
      : random_(seed),
        manifest_(random_cluster(random_, shape())),
        snapshot_(snapshot_of(manifest_)),
        requests_(expand(snapshot_)),
        nodes_(snapshot_.nodes),
        cluster_(nodes_),
        reference_(nodes_) {
    infos_.reserve(nodes_.size());
    for (SnapshotNode& node : nodes_) infos_.push_back(*node.info);
    for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i].info = &infos_[i];
    rebuild();
  }

  // How many were decided about; 0 at the first difference.
  std::size_t run() {
    std::size_t decided = 0;
    for (std::size_t first = 0; first < requests_.size();) {
      std::size_t last = first + 1;
      while (last < requests_.size() && are_of_one_run(requests_[last], requests_[first])) ++last;
      const bool in_one_go = random_.below(2) == 0;
      if (!(in_one_go ? place_run(first, last) : place_one_by_one(first, last))) return 0;
      decided += last - first;
      first = last;
      disturb();
    }
    return decided;
  }

 private:
  ClusterShape shape() {
    const std::uint64_t sizes[] = {6, 40, 300};
    return {.nodes_max = sizes[random_.below(3)],
            .items_max = 12,
            .requests_max = 40,
            .instances_max = random_.below(3) == 0 ? 400u : 60u,
            .running_ppm = 0,
            .trouble_ppm = 40'000};
  }

  bool is_same(const std::optional<Choice>& fast, const std::optional<Choice>& slow) {
    EXPECT_EQ(to_text(fast, nodes_), to_text(slow, nodes_));
    return !testing::Test::HasFailure();
  }

  bool is_refused_alike(const Ask& request) {
    EXPECT_EQ(cluster_.why_not(request), reference_.pipeline().reject(request).reason);
    return !testing::Test::HasFailure();
  }

  void take(const Ask& request, const Choice& choice) {
    held_.push_back(cluster_.holding_for(request, choice.slot));
  }

  bool place_run(std::size_t first, std::size_t last) {
    Ask alike = requests_[first];
    if (alike.own_runtime) return place_one_by_one(first, last);
    const std::vector<Spot> spots = cluster_.place_alike(alike, last - first);
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t number = i - first;
      std::optional<Choice> fast;
      if (number < spots.size()) {
        const Slot slot = spots[number].slot();
        fast = {slot, spots[number].image, cluster_.holding_for(alike, slot).amounts};
      }
      const auto slow = reference_.pipeline().choose(alike);
      if (!is_same(fast, slow)) return false;
      if (!slow) return is_refused_alike(alike);
      take(alike, *slow);
      reference_.ledger().reserve(held_.back());
    }
    return true;
  }

  bool place_one_by_one(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      Ask request = requests_[i];
      draw_history(request);
      const auto slow = reference_.pipeline().choose(request);
      if (!is_same(cluster_.choose(request), slow)) return false;
      if (!slow && random_.below(16) == 0 && !is_refused_alike(request)) return false;
      if (slow) {
        take(request, *slow);
        cluster_.reserve(held_.back());
        reference_.ledger().reserve(held_.back());
      }
      if (random_.below(8) == 0) release_one();
    }
    return true;
  }

  // Some have data somewhere, some have failed to come up somewhere.
  void draw_history(Ask& request) {
    if (random_.below(6) == 0) {
      home_ = {nodes_[random_.below(nodes_.size())].id, true};
      request.home = &home_;
    }
    if (random_.below(6) != 0) return;
    avoided_.clear();
    for (int i = 0; i < 3; ++i) avoided_.insert(nodes_[random_.below(nodes_.size())].id);
    request.avoided = &avoided_;
  }

  void release_one() {
    if (held_.empty()) return;
    const std::size_t which = random_.below(held_.size());
    cluster_.release(held_[which]);
    reference_.ledger().release(held_[which]);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  // A node is used otherwise, or is another; or all that was placed is gone.
  void disturb() {
    const std::size_t node = random_.below(nodes_.size());
    switch (random_.below(6)) {
      case 0: {
        nodes_[node].system_usage = {Dmips{random_.between(0, 400)},
                                     Bytes{random_.between(0, 900)}};
        cluster_.set_system_usage(node, nodes_[node].system_usage);
        reference_.ledger().set_system_usage(node, nodes_[node].system_usage);
        return;
      }
      case 1: return change(node);
      case 2: return forget_one(node);
      default: return;
    }
  }

  void change(std::size_t node) {
    SnapshotNode& view = nodes_[node];
    model::NodeInfo& info = infos_[node];
    switch (random_.below(6)) {
      case 0: view.cordoned = !view.cordoned; break;
      case 1: view.ready = !view.ready; break;
      case 2: view.settings.labels.insert("gpu"); break;
      case 3: view.settings.priority = random_.between(0, 2); break;
      case 4:
        if (!info.runtimes.empty()) info.runtimes.front().ready = model::Readiness::NotReady;
        break;
      default: info.capacity.ram = Bytes{random_.between(0, 1500)}; break;
    }
    std::vector<Holding> there;
    for (const Holding& holding : held_) {
      if (holding.node == node) there.push_back(holding);
    }
    for (const Holding& holding : there) cluster_.release(holding);
    EXPECT_EQ(cluster_.upsert(view), node);
    for (const Holding& holding : there) cluster_.reserve(holding);
    reference_ = Reference(nodes_);
    for (const Holding& holding : held_) reference_.ledger().reserve(holding);
  }

  void forget_one(std::size_t node) {
    if (nodes_.size() < 2) return;
    for (const Holding& holding : held_) cluster_.release(holding);
    held_.clear();
    cluster_.forget(nodes_[node].id);
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(node));
    infos_.erase(infos_.begin() + static_cast<std::ptrdiff_t>(node));
    for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i].info = &infos_[i];
    rebuild();
  }

  // The views point to what is here.
  void rebuild() {
    for (const SnapshotNode& node : nodes_) cluster_.upsert(node);
    reference_ = Reference(nodes_);
  }

  Random random_;
  const model::Manifest manifest_;
  const Snapshot snapshot_;
  const std::vector<Ask> requests_;
  std::vector<SnapshotNode> nodes_;
  std::vector<model::NodeInfo> infos_;
  Cluster cluster_;
  Reference reference_;
  std::vector<Holding> held_;
  Home home_;
  std::set<model::NodeId> avoided_;
};

TEST(StandingCluster, DecidesAsTheScanDoes) {
  std::size_t decided = 0;
  for (std::uint64_t seed = 1; seed <= worlds(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    decided += World(seed).run();
    if (HasFailure()) return;
  }
  RecordProperty("instances", std::to_string(decided));
  fmt::print("{} instances in {} worlds, seeds 1 to {}\n", decided, worlds(), worlds());
}

}  // namespace
}  // namespace berth::placement
