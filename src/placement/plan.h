#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/decision.h"
#include "model/ids.h"
#include "model/names.h"
#include "model/node.h"
#include "placement/rule.h"
#include "placement/snapshot.h"

// What to do, and why: the engine's answer for people and programs alike.
namespace berth::placement {

enum class Mode {
  Run,               // nothing healthy moves without need: keep, place, displace
  Replan,            // forgets present placements
  RebalanceMinimal,  // a run that also relieves overloaded nodes, with as few moves as possible
  RebalanceFull,     // re-evaluates all that may move, by what was measured
};

enum class Action {
  Start,
  Keep,
  Move,
  Update,
  Restart,  // the same version where it is, but with another document or other variables
};

struct Placement {
  model::InstanceKey key;
  std::string version;
  model::Place place;
  std::uint32_t image = 0;
  Action action = Action::Start;
  std::optional<model::Place> from;  // whenever the place changes
  bool leaves_storage = false;       // what it has stored stays on the node that it leaves
  bool leaves_state = false;         // its state too, which is too large; it goes on from an older
  // Only where they are asked for, and unless it stays:
  model::NodeAnswers answers = {};                       // of the nodes, when it was its turn
  std::optional<model::InstanceKey> made_room_for = {};  // a higher priority

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
  std::optional<Duration> not_ready_since;    // of RuntimeNotReady: a date since 1970, if known
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
  // Only where they are asked for:
  model::NodeAnswers answers = {};
  std::optional<model::InstanceKey> made_room_for = {};

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

// Why nothing can relieve an overloaded node.
enum class Unrelieved {
  NothingMayMove,    // what runs there is pinned, or uses none of what is short
  TooLittleMayMove,  // even without all that may move it would be used above its min threshold
  NoOtherPlace,      // too little of what may move has another place
};

// What is done for an overloaded node.
struct Relief {
  model::NodeId node;
  Overload overloaded;
  model::Usage capacity;
  model::Usage before;   // measured
  model::Usage planned;  // when those that leave it have left
  model::Usage goal;     // at or below which it is relieved; counts for what is overloaded
  std::vector<model::InstanceKey> leaving;  // in scheduling order
  std::optional<Unrelieved> unrelieved;     // nullopt: it is relieved by this plan
  std::string detail;                       // of NoOtherPlace, for people: who, and why not

  friend bool operator==(const Relief&, const Relief&) = default;
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
  std::vector<Relief> relief;         // of a minimal rebalance: in the order of treatment
  std::optional<Explanation> explanation;
  bool given_up = false;  // by whoever asked for it: nothing else is in it

  friend bool operator==(const Plan&, const Plan&) = default;
};

// Whether carrying the plan out would do anything.
bool changes_anything(const Plan& plan);

// What refusals tell.
enum class Verdicts {
  PerNode,     // what each node said
  HintOnly,    // what would help
  ReasonOnly,  // but for the one that is to be explained
};

// Whether the plan tells what the nodes said to those whose place or version it decides, so that it
// can be told later.
enum class Answers { NotKept, Kept };

// How places are found: by the index, or by asking every node, which is the reference. The plan is
// the same.
enum class Search { Indexed, Scan };

struct Options {
  Mode mode = Mode::Run;
  Search search = Search::Indexed;
  Verdicts verdicts = Verdicts::PerNode;
  Answers answers = Answers::NotKept;
  std::optional<model::InstanceKey> explain;
  // Of a minimal rebalance: the only ones to relieve; nullopt: all that are overloaded.
  std::optional<std::set<model::NodeId>> relieve;
  // Asked again and again: whether anybody still wants the plan. Without it, everybody does.
  std::function<bool()> is_wanted = {};
  // Refusals after so many answers of nodes tell their reason only, so that a plan that asks for
  // far too much does not take all memory to say so.
  std::size_t verdicts_max = std::numeric_limits<std::size_t>::max();
};

Plan make_plan(const Snapshot& snapshot, const Options& options);

}  // namespace berth::placement

template <>
struct berth::model::Names<berth::placement::Unrelieved> {
  using Unrelieved = berth::placement::Unrelieved;
  static constexpr std::string_view kWhat = "reason";
  static constexpr std::array kTable{
      Word<Unrelieved>{Unrelieved::NothingMayMove, "NothingMayMove"},
      Word<Unrelieved>{Unrelieved::TooLittleMayMove, "TooLittleMayMove"},
      Word<Unrelieved>{Unrelieved::NoOtherPlace, "NoOtherPlace"},
  };
};

template <>
struct berth::model::Names<berth::placement::Action> {
  using Action = berth::placement::Action;
  static constexpr std::string_view kWhat = "action";
  static constexpr std::array kTable{
      Word<Action>{Action::Start, "start"},     Word<Action>{Action::Keep, "keep"},
      Word<Action>{Action::Move, "move"},       Word<Action>{Action::Update, "update"},
      Word<Action>{Action::Restart, "restart"},
  };
};
