#pragma once

#include <optional>
#include <vector>

#include "model/deployment.h"
#include "model/item.h"
#include "placement/snapshot.h"

namespace berth::placement {

// One instance that is asked for.
struct Request {
  model::InstanceKey key;
  const model::Item* item = nullptr;
  const model::RunRequest* run = nullptr;
  std::optional<model::Place> own_runtime;  // of a component asked for on `all` runtimes
  const Present* present = nullptr;
  const model::Item* present_item = nullptr;         // the version that runs, if it is still known
  const Home* home = nullptr;                        // it rather goes there than anywhere else
  const std::set<model::NodeId>* avoided = nullptr;  // nullptr: none
  bool outdated = false;                             // what runs has to be started anew
};

// Every instance that the deployments ask for, in scheduling order: priority descending, then item,
// subject, index.
std::vector<Request> expand(const Snapshot& snapshot);

// The instances that one run request asks for. Most ask alike, and differ in their index only:
// they are counted, so that a million of them takes no room.
struct AskedRun {
  Request alike;                // of index 0
  std::uint32_t instances = 0;  // all indices below it, but those of the others, ask alike
  std::vector<Request> others;  // that have a past, a version or a runtime of their own; by index
};

// The same instances as expand() gives, in the same order.
std::vector<AskedRun> expand_runs(const Snapshot& snapshot);

// The version that a run request means: the one it names, else the item's only one.
const model::Item* item_for(const Snapshot& snapshot, const model::RunRequest& run);

// Whether it leaves something on the disk of its node.
bool has_storage(const model::Item& item);

// Whether it is pinned to where it runs: what cannot stay there by the rules is not touched.
bool is_left_alone(const Request& request);

// Whether whatever holds for a new place of one holds for the other.
bool ask_alike(const Request& a, const Request& b);

// Whether `a` is scheduled before `b`.
bool scheduled_before(const Request& a, const Request& b);

}  // namespace berth::placement
