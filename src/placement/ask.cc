#include "placement/ask.h"

#include <algorithm>
#include <map>
#include <set>

namespace berth::placement {
namespace {

// The runtimes that a component asked for on `all` gets an instance on, in the order in which new
// ones take an index.
std::set<model::Place> matching_runtimes(const Snapshot& snapshot, const model::Item& item) {
  std::set<model::RuntimeType> types;
  for (const model::Image& image : item.images) {
    for (const model::RuntimeType type : model::runtime_types_of(item, image)) types.insert(type);
  }
  std::set<model::Place> places;
  for (const SnapshotNode& node : snapshot.nodes) {
    for (const model::Runtime& runtime : node.info->runtimes) {
      if (types.contains(runtime.type)) places.insert({node.id, runtime.id});
    }
  }
  return places;
}

// An index stays with its runtime, and what is bound to a vanished runtime keeps its index too: it
// may come back. New runtimes take the smallest free ones.
std::map<model::Place, std::uint32_t> indices_of(const Snapshot& snapshot,
                                                 const model::RunRequest& run,
                                                 const std::set<model::Place>& places) {
  std::map<model::Place, std::uint32_t> indices;
  std::set<std::uint32_t> taken;
  const model::InstanceKey first{run.item, run.subject, 0};
  for (auto it = snapshot.bound.lower_bound(first); it != snapshot.bound.end(); ++it) {
    const auto& [key, place] = *it;
    if (key.item != run.item || key.subject != run.subject) break;
    taken.insert(key.index);
    if (places.contains(place)) indices.emplace(place, key.index);
  }
  std::uint32_t next = 0;
  for (const model::Place& place : places) {
    if (indices.contains(place)) continue;
    while (taken.contains(next)) ++next;
    indices.emplace(place, next++);
  }
  return indices;
}

// Which version each instance of a request has now.
class ImageChoice {
 public:
  ImageChoice(const Snapshot& snapshot, const model::RunRequest& run)
      : snapshot_(snapshot), run_(run), whole_(item_for(snapshot, run)) {
    CHECK(whole_ != nullptr, "validated documents name known items");
    const auto found = snapshot.versions.find({run.item, run.subject});
    if (found == snapshot.versions.end()) return;
    versions_ = &found->second;
    whole_ = &known(versions_->whole);
  }

  const model::Item& whole() const { return *whole_; }

  const model::Item& of(std::uint32_t index) const {
    if (versions_ == nullptr) return *whole_;
    const auto own = versions_->of.find(index);
    return own == versions_->of.end() ? *whole_ : known(own->second);
  }

 private:
  const model::Item& known(const std::string& version) const {
    const auto item = snapshot_.items.find({run_.item, version});
    CHECK(item != snapshot_.items.end(), "versions on the way are known");
    return *item->second;
  }

  const Snapshot& snapshot_;
  const model::RunRequest& run_;
  const model::Item* whole_;
  const Versions* versions_ = nullptr;
};

class Expansion {
 public:
  explicit Expansion(const Snapshot& snapshot) : snapshot_(snapshot) {}

  void add(const model::RunRequest& run) {
    if (snapshot_.absent.contains(run.subject)) return;
    const ImageChoice choice(snapshot_, run);
    if (!run.instances) return add_bound(run, choice, requests_);
    for (std::uint32_t index = 0; index < *run.instances; ++index) {
      requests_.push_back(request_for(run, choice.of(index), index, std::nullopt));
    }
  }

  std::optional<AskedRun> asked_by(const model::RunRequest& run) const {
    if (snapshot_.absent.contains(run.subject)) return std::nullopt;
    const ImageChoice choice(snapshot_, run);
    AskedRun asked{.alike = ask_of(run, choice.whole(), 0),
                   .instances = run.instances.value_or(0),
                   .others = {}};
    if (!run.instances) add_bound(run, choice, asked.others);
    for (const std::uint32_t index : indices_with_a_past(run)) {
      if (index >= asked.instances) break;
      asked.others.push_back(request_for(run, choice.of(index), index, std::nullopt));
    }
    std::ranges::sort(asked.others, scheduled_before);
    return asked;
  }

  void add(const PoolAsk& pool) {
    requests_.push_back(ask_of(pool));
    Ask& request = requests_.back();
    const auto present = snapshot_.present.find(request.key);
    if (present == snapshot_.present.end()) return;
    request.present = &present->second;
    request.present_item = request.item;
  }

  std::vector<Ask> in_scheduling_order() && {
    std::ranges::sort(requests_, scheduled_before);
    return std::move(requests_);
  }

 private:
  void add_bound(const model::RunRequest& run, const ImageChoice& choice,
                 std::vector<Ask>& requests) const {
    const auto places = matching_runtimes(snapshot_, choice.whole());
    for (const auto& [place, index] : indices_of(snapshot_, run, places)) {
      requests.push_back(request_for(run, choice.of(index), index, place));
    }
  }

  // Of which the snapshot says anything.
  std::set<std::uint32_t> indices_with_a_past(const model::RunRequest& run) const {
    std::set<std::uint32_t> indices;
    const model::InstanceKey first{run.item, run.subject, 0};
    const auto add_from = [&](const auto& map) {
      for (auto it = map.lower_bound(first); it != map.end(); ++it) {
        const model::InstanceKey& key = it->first;
        if (key.item != run.item || key.subject != run.subject) return;
        indices.insert(key.index);
      }
    };
    add_from(snapshot_.present);
    add_from(snapshot_.homes);
    add_from(snapshot_.avoided);
    const auto versions = snapshot_.versions.find({run.item, run.subject});
    if (versions == snapshot_.versions.end()) return indices;
    for (const auto& [index, version] : versions->second.of) indices.insert(index);
    return indices;
  }

  Ask request_for(const model::RunRequest& run, const model::Item& item, std::uint32_t index,
                  std::optional<model::Place> own_runtime) const {
    Ask request = ask_of(run, item, index);
    request.own_runtime = std::move(own_runtime);
    request.outdated = snapshot_.outdated.contains(request.key);
    const auto avoided = snapshot_.avoided.find(request.key);
    if (avoided != snapshot_.avoided.end()) request.avoided = &avoided->second;
    const auto present = snapshot_.present.find(request.key);
    if (present != snapshot_.present.end()) {
      request.present = &present->second;
      const auto running = snapshot_.items.find({run.item, present->second.version});
      if (running != snapshot_.items.end()) request.present_item = running->second;
    }
    const auto home = snapshot_.homes.find(request.key);
    if (home != snapshot_.homes.end() && (home->second.has_state || has_storage(item))) {
      request.home = &home->second;
    }
    return request;
  }

  const Snapshot& snapshot_;
  std::vector<Ask> requests_;
};

}  // namespace

Ask ask_of(const model::RunRequest& run, const model::Item& item, std::uint32_t index) {
  return {.key = {run.item, run.subject, index},
          .item = &item,
          .priority = run.priority,
          .labels = run.labels,
          .nodes = run.nodes};
}

Ask ask_of(const PoolAsk& pool) {
  return {.key = pool.key,
          .item = pool.item,
          .priority = pool.priority,
          .labels = *pool.labels,
          .nodes = *pool.nodes,
          .bound = pool.bound,
          .displaces = pool.displaces};
}

const model::Item* item_for(const Snapshot& snapshot, const model::RunRequest& run) {
  const auto found = snapshot.items.lower_bound({run.item, run.version});
  if (found == snapshot.items.end() || found->first.item != run.item) return nullptr;
  if (!run.version.empty() && found->first.version != run.version) return nullptr;
  return found->second;
}

bool is_left_alone(const Ask& request) {
  return request.present != nullptr && !request.present->untold && is_pinned(request);
}

bool ask_alike(const Ask& a, const Ask& b) {
  const auto is_plain = [](const Ask& request) {
    return !request.own_runtime && request.home == nullptr && request.avoided == nullptr;
  };
  return a.item == b.item && a.priority == b.priority && a.displaces == b.displaces &&
         std::ranges::equal(a.labels, b.labels) && std::ranges::equal(a.nodes, b.nodes) &&
         is_plain(a) && is_plain(b);
}

bool has_storage(const model::Item& item) {
  return item.type == model::ItemType::Service &&
         (item.quotas.storage.value_or(Bytes{}) > Bytes{} ||
          item.request.storage.value_or(Bytes{}) > Bytes{});
}

bool scheduled_before(const Ask& a, const Ask& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  return a.key < b.key;
}

std::vector<Ask> expand(const Snapshot& snapshot) {
  Expansion expansion(snapshot);
  for (const model::Deployment* deployment : snapshot.deployments) {
    for (const model::RunRequest& run : deployment->run) expansion.add(run);
  }
  for (const PoolAsk& pool : snapshot.pools) expansion.add(pool);
  return std::move(expansion).in_scheduling_order();
}

std::vector<AskedRun> expand_runs(const Snapshot& snapshot) {
  const Expansion expansion(snapshot);
  std::vector<AskedRun> runs;
  for (const model::Deployment* deployment : snapshot.deployments) {
    for (const model::RunRequest& run : deployment->run) {
      if (auto asked = expansion.asked_by(run)) runs.push_back(*std::move(asked));
    }
  }
  std::ranges::sort(runs, [](const AskedRun& a, const AskedRun& b) {
    return scheduled_before(a.alike, b.alike);
  });
  return runs;
}

}  // namespace berth::placement
