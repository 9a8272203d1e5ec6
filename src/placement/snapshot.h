#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/deployment.h"
#include "model/item.h"
#include "model/manifest.h"
#include "model/node.h"

// What the engine looks at: the cluster at one moment, as plain views. The controller makes one
// from its state, an offline plan from documents; the engine does not know which.
namespace berth::placement {

enum class Reachability {
  Connected,
  Unreachable,  // silent, but not for so long that what it runs is given up
  Lost,
};

// Whether what runs on a node has to go.
enum class Drain {
  No,
  Gently,  // what finds no other place stays for the time being
  Now,
};

// Of which resource a node is used too much.
struct Overload {
  bool cpu = false;
  bool ram = false;

  bool any() const { return cpu || ram; }
  friend bool operator==(const Overload&, const Overload&) = default;
};

struct SnapshotNode {
  model::NodeId id;
  const model::NodeInfo* info = nullptr;
  model::NodeSettings settings;
  Reachability reachability = Reachability::Connected;
  bool cordoned = false;
  Drain drain = Drain::No;
  bool ready = false;                       // its primary runtime is, after its grace
  const model::Runtime* primary = nullptr;  // of `info`
  std::map<model::RuntimeId, Duration> not_ready_since = {};  // dates since 1970, where known
  std::set<model::RuntimeId> evicting = {};  // what runs on these shall go, if it finds a place
  Overload overloaded;                       // above a max threshold; matters while rebalancing
  std::optional<model::Usage> usage;         // measured total, averaged
  model::Usage system_usage;                 // of everything that is not ours
};

// Where an instance is now.
struct Present {
  model::Place place;
  std::string version;
  model::Usage measured;
  bool finished =
      false;  // it has done what it was for: wherever else it went, it would do it again
  bool returning = false;  // it did not come up elsewhere, and starts here again: that comes first
  bool untold = false;     // its node was never told of it: nothing runs there

  friend bool operator==(const Present&, const Present&) = default;
};

// Where an instance has what it cannot take along.
struct Home {
  model::NodeId node;
  bool has_state = false;  // which is too large; else it is what it has stored

  friend bool operator==(const Home&, const Home&) = default;
};

// One instance of a pool that is asked for; where it is stands with the others that are present.
struct PoolAsk {
  model::InstanceKey key;
  const model::Item* item = nullptr;  // in the version that runs, if it does
  std::int64_t priority = 0;
  const std::vector<std::string>* labels = nullptr;
  const std::vector<model::NodeId>* nodes = nullptr;
  bool bound = false;      // somebody uses it: it stays where it is
  bool displaces = false;  // somebody waits for it: lower priorities make room
};

// The versions of one run request's instances while it goes from one to another.
struct Versions {
  std::string whole;                        // of all that are not named below
  std::map<std::uint32_t, std::string> of;  // by index
};

// The cluster, what is desired of it, and what runs. Pointers are to what outlives the snapshot.
struct Snapshot {
  std::map<model::ItemKey, const model::Item*> items;
  std::vector<const model::Deployment*> deployments;
  std::vector<PoolAsk> pools;
  std::vector<SnapshotNode> nodes;
  std::map<model::InstanceKey, Present> present;
  std::map<model::InstanceKey, Home> homes;  // of those that do not run, or have a large state
  // Components asked for on `all` runtimes keep their index with their runtime, running or cached.
  std::map<model::InstanceKey, model::Place> bound;
  // Where the version is not simply what the request says.
  std::map<std::pair<model::ItemId, model::SubjectId>, Versions> versions;
  std::set<model::SubjectId> absent;  // nothing of theirs runs
  // Where instances have lately failed to come up: they are not sent there again.
  std::map<model::InstanceKey, std::set<model::NodeId>> avoided = {};
  // What runs with another document or other variables than are asked for, in the same version.
  std::set<model::InstanceKey> outdated = {};
};

// The cluster that the documents describe. States are taken as lasting: a node that is not
// connected is lost, one above a threshold is overloaded.
Snapshot snapshot_of(const model::Manifest& manifest);

// Finds out what of the snapshot is outdated when the documents go from `before` to `after`.
void mark_outdated(Snapshot& snapshot, const model::Manifest& before, const model::Manifest& after);

}  // namespace berth::placement
