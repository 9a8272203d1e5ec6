#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/shared_text.h"
#include "model/ids.h"
#include "model/names.h"

// What was decided about an instance, and what the nodes said to it then.
namespace berth::model {

// Why a node was turned down. In the order of the rules: a later one got further.
enum class Reason : std::uint8_t {
  NoConnectedNodes,
  NoUsableNodes,
  NoMatchingNodeId,
  NoMatchingLabels,
  NoMatchingResources,
  NoMatchingRuntimeType,
  NoMatchingPlatform,
  RuntimeNotReady,
  InsufficientCpu,
  InsufficientRam,
  InsufficientStorage,
  InsufficientState,
  InstanceLimitReached,
  AboveMaxThreshold,
  FailedThere,
};

template <>
struct Names<Reason> {
  static constexpr std::string_view kWhat = "reason";
  static constexpr std::array kTable{
      Word<Reason>{Reason::NoConnectedNodes, "NoConnectedNodes"},
      Word<Reason>{Reason::NoUsableNodes, "NoUsableNodes"},
      Word<Reason>{Reason::NoMatchingNodeId, "NoMatchingNodeId"},
      Word<Reason>{Reason::NoMatchingLabels, "NoMatchingLabels"},
      Word<Reason>{Reason::NoMatchingResources, "NoMatchingResources"},
      Word<Reason>{Reason::NoMatchingRuntimeType, "NoMatchingRuntimeType"},
      Word<Reason>{Reason::NoMatchingPlatform, "NoMatchingPlatform"},
      Word<Reason>{Reason::RuntimeNotReady, "RuntimeNotReady"},
      Word<Reason>{Reason::InsufficientCpu, "InsufficientCpu"},
      Word<Reason>{Reason::InsufficientRam, "InsufficientRam"},
      Word<Reason>{Reason::InsufficientStorage, "InsufficientStorage"},
      Word<Reason>{Reason::InsufficientState, "InsufficientState"},
      Word<Reason>{Reason::InstanceLimitReached, "InstanceLimitReached"},
      Word<Reason>{Reason::AboveMaxThreshold, "AboveMaxThreshold"},
      Word<Reason>{Reason::FailedThere, "FailedThere"},
  };
};

// What decided between two nodes that fit; the order of the enumerators is the order of looking.
enum class Preference : std::uint8_t {
  Data,
  NodePriority,
  Cpu,
  Ram,
  NodeName,
  TypeOrder,
  RuntimeName
};

template <>
struct Names<Preference> {
  static constexpr std::string_view kWhat = "preference";
  static constexpr std::array kTable{
      Word<Preference>{Preference::Data, "data"},
      Word<Preference>{Preference::NodePriority, "priority"},
      Word<Preference>{Preference::Cpu, "cpu"},
      Word<Preference>{Preference::Ram, "ram"},
      Word<Preference>{Preference::NodeName, "node"},
      Word<Preference>{Preference::TypeOrder, "typeOrder"},
      Word<Preference>{Preference::RuntimeName, "runtime"},
  };
};

// What one node said to one instance, in as few bytes as it takes to say it in words later.
struct NodeAnswer {
  NodeId node;
  std::optional<Reason> reason;      // the rule that turned it down
  std::optional<Preference> behind;  // none did, but the chosen one was better in this
  std::int64_t asked = 0;            // of one that is behind: what the chosen one has
  std::int64_t has = 0;              // of the chosen one: the cpu that was left
  std::string what;                  // that the rule is about: a label, a runtime, a phrase

  friend bool operator==(const NodeAnswer&, const NodeAnswer&) = default;
};

// Those of the nodes that came nearest, and how many more there were. One of each instance is kept
// and hardly ever read: as text, a line for each, which is shared by all that were told the same.
struct NodeAnswers {
  SharedText lines;
  std::uint32_t left_out = 0;

  std::vector<NodeAnswer> nodes() const;  // in the order of the cluster's nodes

  friend bool operator==(const NodeAnswers&, const NodeAnswers&) = default;
};

void append_line(std::string& lines, const NodeAnswer& answer);
NodeAnswers answers_of(const std::vector<NodeAnswer>& nodes, std::uint32_t left_out = 0);

enum class DecisionKind : std::uint8_t {
  Placed,
  Moved,
  Updated,
  Refused,
  Displaced,  // lost its place to a higher priority, and found no other
};

template <>
struct Names<DecisionKind> {
  static constexpr std::string_view kWhat = "decision";
  static constexpr std::array kTable{
      Word<DecisionKind>{DecisionKind::Placed, "Placed"},
      Word<DecisionKind>{DecisionKind::Moved, "Moved"},
      Word<DecisionKind>{DecisionKind::Updated, "Updated"},
      Word<DecisionKind>{DecisionKind::Refused, "Refused"},
      Word<DecisionKind>{DecisionKind::Displaced, "Displaced"},
  };
};

// The last decision about an instance. It stands until another place, another version or another
// reason to refuse it is decided; what the nodes say later does not change it.
struct DecisionRecord {
  InstanceKey key;
  std::uint64_t revision = 0;  // that made it durable
  DecisionKind kind = DecisionKind::Placed;
  std::string text;              // "1.0.0 on n1/runc"
  std::string because;           // what brought it about, where the nodes do not tell
  std::optional<Place> place;    // unless it was refused
  std::optional<Reason> reason;  // of a refusal
  std::string hint;              // of a refusal
  NodeAnswers answers;  // without any if it could stay where it was: then nobody else was asked

  friend bool operator==(const DecisionRecord&, const DecisionRecord&) = default;
};

// "Placed 1.0.0 on n1/runc".
std::string to_string(const DecisionRecord& decision);

}  // namespace berth::model
