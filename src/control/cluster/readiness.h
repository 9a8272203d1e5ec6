#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/alarms.h"
#include "base/time.h"
#include "model/condition.h"
#include "model/ids.h"
#include "model/protocol.h"
#include "model/records.h"
#include "model/runtime.h"

namespace berth::control {

struct Context;
struct ObservedNode;
struct Step;

struct RuntimeReadiness {
  model::Readiness graced = model::Readiness::Unknown;
  Time graced_since;  // that it is Ready, or that it is not
  bool has_been_ready = false;
  Time not_ready_since;   // of one that says that it is not
  bool evicting = false;  // it has not been ready for so long that what runs there shall go

  friend bool operator==(const RuntimeReadiness&, const RuntimeReadiness&) = default;
};

// What people are told of a node.
struct Condition {
  model::ConditionType type = model::ConditionType::Ready;
  model::ConditionStatus status = model::ConditionStatus::Unknown;
  std::string reason;   // one CamelCase token
  std::string message;  // which runtimes failed, and why
  Time changed;         // its status

  friend bool operator==(const Condition&, const Condition&) = default;
};

struct NodeReadiness {
  std::map<model::RuntimeId, RuntimeReadiness> runtimes;
  std::vector<Condition> conditions;  // in the order of their types

  // Whether the node is Ready, so whether its primary runtime is.
  bool is_ready() const;
  // Whether the runtime is, after its grace.
  bool is_ready(const model::RuntimeId& runtime) const;
  std::set<model::RuntimeId> have_been_ready() const;
};

// The room of readiness: what is made of what a node says of its runtimes. Placement uses what they
// say, at once; people and the node's own readiness follow what lasts longer than a runtime's
// grace.
class ReadinessRoom {
 public:
  // At a start: as it was when the controller was last running.
  void restore(const Step& step, const model::NodeRecord& record, ObservedNode& node) const;
  // Takes in what a report says of the node's runtimes, before it replaces what was known of them.
  void hear(Context& context, const model::NodeId& id, ObservedNode& node,
            const model::Report& report);
  // It can be reached or not, since it was looked at last.
  void look_at(const model::NodeId& node) { marked_.insert(node); }
  // How long evictions wait may have been configured anew.
  void look_at_all(const std::map<model::NodeId, ObservedNode>& nodes);

  void decide(Context& context);
  Time next() const { return alarms_.next().value_or(kNever); }
  void forget(const model::NodeId& node);

 private:
  std::set<model::NodeId> marked_;
  Alarms<model::NodeId> alarms_;
};

}  // namespace berth::control
