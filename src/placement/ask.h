#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/deployment.h"
#include "model/item.h"
#include "placement/snapshot.h"

namespace berth::placement {

// One instance that is asked for, by whomever: desired state, or whatever else wants it to run.
// What it points to outlives it.
struct Ask {
  model::InstanceKey key;
  const model::Item* item = nullptr;
  std::int64_t priority = 0;
  std::span<const std::string> labels;      // that its node must have
  std::span<const model::NodeId> nodes;     // the only ones that it may go to; empty: any
  std::optional<model::Place> own_runtime;  // of a component asked for on `all` runtimes
  const Present* present = nullptr;
  const model::Item* present_item = nullptr;         // the version that runs, if it is still known
  const Home* home = nullptr;                        // it rather goes there than anywhere else
  const std::set<model::NodeId>* avoided = nullptr;  // nullptr: none
  bool outdated = false;                             // what runs has to be started anew
  bool bound = false;                                // somebody uses it: it is as if pinned
  bool displaces = true;                             // lower priorities make room for it
};

// One of a run request, in the version that this item is.
Ask ask_of(const model::RunRequest& run, const model::Item& item, std::uint32_t index);

// One of a pool. What is known of its presence is not in it.
Ask ask_of(const PoolAsk& pool);

// Whether it may not be moved by whomever.
inline bool is_pinned(const Ask& request) {
  return request.bound || model::is_pinned(*request.item);
}

// Every instance that the deployments and pools ask for, in scheduling order: priority descending,
// then item, subject, index.
std::vector<Ask> expand(const Snapshot& snapshot);

// The instances that one run request asks for. Most ask alike, and differ in their index only:
// they are counted, so that a million of them takes no room.
struct AskedRun {
  Ask alike;                    // of index 0
  std::uint32_t instances = 0;  // all indices below it, but those of the others, ask alike
  std::vector<Ask> others;      // that have a past, a version or a runtime of their own; by index
};

// The same instances as expand() gives, in the same order.
std::vector<AskedRun> expand_runs(const Snapshot& snapshot);

// The version that a run request means: the one it names, else the item's only one.
const model::Item* item_for(const Snapshot& snapshot, const model::RunRequest& run);

// Whether it leaves something on the disk of its node.
bool has_storage(const model::Item& item);

// Whether it is pinned to where it runs: what cannot stay there by the rules is not touched.
bool is_left_alone(const Ask& request);

// Whether whatever holds for a new place of one holds for the other.
bool ask_alike(const Ask& a, const Ask& b);

// Whether `a` is scheduled before `b`.
bool scheduled_before(const Ask& a, const Ask& b);

}  // namespace berth::placement
