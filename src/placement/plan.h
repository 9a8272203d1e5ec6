#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/names.h"
#include "model/node.h"
#include "placement/rule.h"
#include "placement/snapshot.h"

// What to do, and why: the engine's answer for people and programs alike.
namespace berth::placement {

enum class Mode {
  Run,            // nothing healthy moves without need: keep, place, displace
  Replan,         // forgets present placements
  RebalanceFull,  // re-evaluates all that may move, by what was measured
};

enum class Action { Start, Keep, Move, Update };

struct Placement {
  model::InstanceKey key;
  std::string version;
  model::Place place;
  std::uint32_t image = 0;
  Action action = Action::Start;
  std::optional<model::Place> from;  // whenever the place changes
  bool leaves_storage = false;       // what it has stored stays on the node that it leaves

  friend bool operator==(const Placement&, const Placement&) = default;
};

// One node's answer to one instance.
struct NodeVerdict {
  model::NodeId node;
  std::optional<Reason> reason;  // nullopt: no rule turned it down
  std::optional<std::int64_t> asked;
  std::optional<std::int64_t> has;
  model::RuntimeId runtime;                   // of RuntimeNotReady: which one
  std::optional<model::Readiness> readiness;  // of RuntimeNotReady
  std::string detail;                         // a phrase for people: "lacks label zone=edge"

  friend bool operator==(const NodeVerdict&, const NodeVerdict&) = default;
};

struct Refusal {
  model::InstanceKey key;
  std::string version;
  Reason reason = Reason::NoConnectedNodes;
  std::vector<NodeVerdict> nodes;  // ordered by node id
  std::string hint;                // the cheapest change that would make it fit
  bool left_running = false;       // pinned: what runs of it stays as it is

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

// Runs, and is placed nowhere.
struct Stop {
  model::InstanceKey key;
  std::string version;
  model::Place place;

  friend bool operator==(const Stop&, const Stop&) = default;
};

struct NodeLoad {
  model::NodeId node;
  model::Usage capacity;
  model::Usage before;    // what runs now asks for
  model::Usage reserved;  // when the plan is carried out
  model::Usage available;

  friend bool operator==(const NodeLoad&, const NodeLoad&) = default;
};

// How one instance came to its place, or did not: `berth why`.
struct Explanation {
  model::InstanceKey key;
  std::string summary;
  std::vector<NodeVerdict> nodes;  // ordered by node id

  friend bool operator==(const Explanation&, const Explanation&) = default;
};

struct Plan {
  std::vector<Placement> placements;  // in scheduling order
  std::vector<Refusal> refused;       // in scheduling order
  std::vector<Stop> stops;            // ordered by key
  std::vector<NodeLoad> nodes;        // ordered by id
  std::optional<Explanation> explanation;

  friend bool operator==(const Plan&, const Plan&) = default;
};

// Whether carrying the plan out would do anything.
bool changes_anything(const Plan& plan);

enum class Verdicts { PerNode, ReasonOnly };

struct Options {
  Mode mode = Mode::Run;
  Verdicts verdicts = Verdicts::PerNode;
  std::optional<model::InstanceKey> explain;
};

Plan make_plan(const Snapshot& snapshot, const Options& options);

}  // namespace berth::placement

template <>
struct berth::model::Names<berth::placement::Action> {
  using Action = berth::placement::Action;
  static constexpr std::string_view kWhat = "action";
  static constexpr std::array kTable{
      Word<Action>{Action::Start, "start"},
      Word<Action>{Action::Keep, "keep"},
      Word<Action>{Action::Move, "move"},
      Word<Action>{Action::Update, "update"},
  };
};
