#include "placement/cluster/batch.h"

#include <algorithm>

#include "placement/staying.h"

namespace berth::placement {
namespace {

using model::Reason;

// Whether it is one of those that differ in their index only, once it has to look for a place.
bool asks_like(const Ask& request, const Ask& alike) {
  return request.item == alike.item && request.home == nullptr && request.avoided == nullptr &&
         !request.own_runtime;
}

class BatchPlacing {
 public:
  BatchPlacing(Cluster& cluster, const std::vector<AskedRun>& runs, const BatchListener& listener)
      : cluster_(cluster), runs_(runs), listener_(listener) {}

  BatchOutcome carry_out() && {
    outcome_.instances = instances_of(runs_);
    keep();
    for (std::size_t run = 0; run < runs_.size(); ++run) place_run(runs_[run], settled_[run]);
    stay();
    judge_left_alone();
    tell_reasons();
    return std::move(outcome_);
  }

 private:
  // Without a place for now, and what is asked for all of them.
  struct Waiting {
    const Ask* request;
    std::vector<std::uint32_t> indices;
  };

  struct LeftAlone {
    const Ask* request;
    Holding holding;
  };

  void keep() {
    for (const AskedRun& run : runs_) {
      std::vector<bool>& settled = settled_.emplace_back(run.others.size());
      for (std::size_t i = 0; i < run.others.size(); ++i) {
        const Ask& other = run.others[i];
        if (other.present == nullptr || drain_of(other) != Drain::No) continue;
        settled[i] = settle_where_it_is(other);
      }
    }
  }

  // What should leave its node, and has found no other place, stays for the time being.
  void stay() {
    for (const Ask* request : leavers_) {
      if (!settle_where_it_is(*request)) waiting_.push_back({request, {request->key.index}});
    }
  }

  // Why it may not stay by the rules, as things are at the end. Nobody has made room meanwhile, so
  // it still may not.
  void judge_left_alone() {
    for (const auto& [request, holding] : left_alone_) {
      cluster_.release(holding);
      const Rejection rejection =
          cluster_.pipeline().reject_kept(*request, holding.node, holding.runtime);
      cluster_.reserve(holding);
      refuse(*request, {&request->key.index, 1}, rejection.reason);
    }
  }

  // As they are at the end: what was in the way of somebody's turn may be in somebody else's now.
  void tell_reasons() {
    for (const auto& [request, indices] : waiting_) refuse(*request, indices, why_not(*request));
  }

  Drain drain_of(const Ask& request) const {
    const auto node = cluster_.find(request.present->place.node);
    return placement::drain_of(request, node ? &cluster_.nodes()[*node] : nullptr);
  }

  // Keeps it, or leaves it alone, which is refused but holds its room. False: it has to go.
  bool settle_where_it_is(const Ask& request) {
    const model::Place& place = request.present->place;
    const auto node = cluster_.find(place.node);
    const auto runtime = node ? cluster_.find_runtime(*node, place.runtime) : std::nullopt;
    const auto choice =
        runtime ? cluster_.pipeline().keep(request, {*node, *runtime}) : std::nullopt;
    if (choice) {
      ++outcome_.kept;
      take(request, *choice);
      return true;
    }
    if (!is_left_alone(request)) return false;
    if (node) {
      hold_as_it_is(request, *node, runtime);
    } else {
      refuse(request, {&request.key.index, 1}, Reason::NoConnectedNodes);
    }
    return true;
  }

  void hold_as_it_is(const Ask& request, std::size_t node, std::optional<std::size_t> runtime) {
    Ask running = request;
    if (request.present_item != nullptr) running.item = request.present_item;
    Holding holding = cluster_.holding_for(running, {node, runtime.value_or(0)});
    holding.runtime = runtime;
    cluster_.reserve(holding);
    left_alone_.push_back({&request, std::move(holding)});
  }

  // In the order of their indices; whoever differs ends a stretch of those who ask alike.
  void place_run(const AskedRun& run, const std::vector<bool>& settled) {
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < run.others.size(); ++i) {
      const Ask& other = run.others[i];
      for (; next < std::min(other.key.index, run.instances); ++next) indices_.push_back(next);
      next = other.key.index + 1;
      if (settled[i]) continue;
      const bool leaves = other.present != nullptr && drain_of(other) == Drain::Gently;
      if (!leaves && asks_like(other, run.alike)) {
        indices_.push_back(other.key.index);
        continue;
      }
      place_alike(run.alike);
      place_one(other, leaves);
    }
    for (; next < run.instances; ++next) indices_.push_back(next);
    place_alike(run.alike);
  }

  void place_alike(const Ask& alike) {
    if (indices_.empty()) return;
    const std::vector<Spot> spots = cluster_.place_alike(alike, indices_.size());
    const auto indices = std::span<const std::uint32_t>(indices_);
    const auto rest = indices.subspan(spots.size());
    if (!rest.empty()) waiting_.push_back({&alike, {rest.begin(), rest.end()}});
    outcome_.placed += spots.size();
    if (!spots.empty()) tell({alike, indices.first(spots.size()), spots, {}});
    indices_.clear();
  }

  void place_one(const Ask& request, bool leaves) {
    if (const auto choice = cluster_.choose(request)) return take(request, *choice);
    if (leaves) {
      leavers_.push_back(&request);
    } else {
      waiting_.push_back({&request, {request.key.index}});
    }
  }

  void take(const Ask& request, const Choice& choice) {
    cluster_.reserve(cluster_.holding_for(request, choice.slot));
    ++outcome_.placed;
    const Spot spot = spot_of(choice);
    tell({request, {&request.key.index, 1}, {&spot, 1}, {}});
  }

  // Who is left alone is judged before the others: the first is the first in scheduling order.
  void refuse(const Ask& request, std::span<const std::uint32_t> indices, Reason reason) {
    const model::InstanceKey first{request.key.item, request.key.subject, indices.front()};
    BatchRefusal& refusal = outcome_.refused[reason];
    std::int64_t& priority = priority_of_first_[reason];
    const std::int64_t own = request.priority;
    if (refusal.instances == 0 || own > priority || (own == priority && first < refusal.first)) {
      refusal.first = first;
      priority = own;
    }
    refusal.instances += indices.size();
    tell({request, indices, {}, reason});
  }

  // All nodes are asked why, so those that ask alike are told the same: no room changes any more.
  Reason why_not(const Ask& request) {
    if (request.avoided != nullptr) return cluster_.pipeline().reject(request).reason;
    const bool is_bound = request.own_runtime.has_value();
    if (is_bound) {
      const Reason own = why_not_on_its_own(request);
      if (own > Reason::NoMatchingNodeId) return own;
    }
    const Asked asked{request.item, request.labels.data(), request.nodes.data(), is_bound};
    if (asked_ != asked) {
      asked_ = asked;
      answer_ = cluster_.pipeline().reject(request).reason;
    }
    return answer_;
  }

  Reason why_not_on_its_own(const Ask& request) const {
    Reason furthest = Reason::NoConnectedNodes;
    const auto node = cluster_.find(request.own_runtime->node);
    if (!node) return furthest;
    for (std::uint32_t image = 0; image < request.item->images.size(); ++image) {
      furthest = std::max(furthest, cluster_.pipeline().reject_on(request, image, *node).reason);
    }
    return furthest;
  }

  void tell(const BatchPart& part) const {
    if (listener_) listener_(part);
  }

  struct Asked {
    const model::Item* item = nullptr;
    const std::string* labels = nullptr;  // those of one run are in one place
    const model::NodeId* nodes = nullptr;
    bool is_bound = false;

    friend bool operator==(const Asked&, const Asked&) = default;
  };

  Cluster& cluster_;
  const std::vector<AskedRun>& runs_;
  const BatchListener& listener_;
  BatchOutcome outcome_;
  std::vector<std::vector<bool>> settled_;  // of each run, which of the others
  std::vector<std::uint32_t> indices_;      // of those that ask alike and are next
  std::vector<const Ask*> leavers_;         // in scheduling order, as all of these
  std::vector<LeftAlone> left_alone_;
  std::vector<Waiting> waiting_;
  std::map<Reason, std::int64_t> priority_of_first_;
  Asked asked_;  // what was asked last why it has no place
  Reason answer_ = Reason::NoConnectedNodes;
};

}  // namespace

std::uint64_t instances_of(const std::vector<AskedRun>& runs) {
  std::uint64_t instances = 0;
  for (const AskedRun& run : runs) {
    instances += std::max<std::size_t>(run.instances, run.others.size());
  }
  return instances;
}

BatchOutcome place_batch(Cluster& cluster, const std::vector<AskedRun>& runs,
                         const BatchListener& listener) {
  return BatchPlacing(cluster, runs, listener).carry_out();
}

}  // namespace berth::placement
