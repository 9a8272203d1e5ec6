#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/decision.h"
#include "model/item.h"
#include "placement/amounts.h"
#include "placement/ask.h"
#include "placement/ledger.h"
#include "placement/planned_usage.h"
#include "placement/snapshot.h"

namespace berth::placement {

using model::Preference;
using model::Reason;

// A new placement is judged by all rules; what already runs is judged only by those that say
// whether it may go on, and keeps its room on a node that is silent for a while.
enum class Purpose { Place, Keep };

// One runtime of one node, looked at for one image of one instance. `runtime` is nullptr on a node
// without runtimes, and for what runs on a runtime that is gone.
struct Candidate {
  const Ask& request;
  const model::Image& image;
  const std::vector<model::RuntimeType>& types;
  const SnapshotNode& node;
  Slot slot;
  const model::Runtime* runtime;
  Amounts asked;
  const Ledger& ledger;
  const PlannedUsage* planned;  // nullptr: usage does not matter
  Purpose purpose;

  SystemUsage system_usage() const {
    return purpose == Purpose::Keep ? SystemUsage::Ignored : SystemUsage::Counted;
  }
};

// What was missing, with figures where there are any.
struct Shortfall {
  std::optional<std::int64_t> asked;
  std::optional<std::int64_t> has;
  const std::string* what = nullptr;  // the label or resource that the node lacks
};

// What a rule looks at of a candidate. What it says of a node's kind is the same for all of that
// kind, and until the node or the request is another.
enum class About { Kind, Name, Room };

// A rule turns a candidate down, or not. Rules look at nothing but the candidate.
struct Rule {
  Reason reason;
  Purpose strictest;  // Keep: also what runs must fulfil it
  About about;
  std::optional<Shortfall> (*turns_down)(const Candidate&);
};

// The rules that turn candidates down, in their order.
std::span<const Rule* const> rules();

// A candidate that no rule turned down, with the figures that the choice among them looks at.
struct Fit {
  Slot slot;
  const model::NodeId* node = nullptr;
  const model::RuntimeId* runtime = nullptr;
  bool is_home = false;             // what the instance has stored is there
  std::int64_t priority = 0;        // the node's
  Dmips cpu_left;                   // of the node, never below 0
  Bytes ram_left;                   // of the node, never below 0
  std::size_t type_preference = 0;  // place of the runtime's type in the list; smaller is better
};

// Where the instance has its data there is no choice.
void keep_home(std::vector<Fit>& fits);

// Keeps the nodes of the highest priority.
void keep_top_priority(std::vector<Fit>& fits);

// The one that fits best. `fits` is not empty.
const Fit& best_fit(const std::vector<Fit>& fits);

// Which preference makes `winner` better than `loser`.
Preference what_decided(const Fit& winner, const Fit& loser);

// Whether `a` would be chosen before `b`.
bool is_better(const Fit& a, const Fit& b);

}  // namespace berth::placement
