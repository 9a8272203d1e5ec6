#pragma once

#include <map>
#include <optional>
#include <set>

#include "base/alarms.h"
#include "control/cluster/load.h"
#include "control/step.h"

namespace berth::control {

struct Context;

// The room of alerts: an instance that uses too much of its quota for too long, by the thresholds
// of its item, is reported. They decide nothing.
class Alerts {
 public:
  // Its node has said what the instance uses: if its item has alerts, that is compared with them.
  void hear(const Step& step, const model::ReportedStatus& status);

  void decide(Context& context);
  Time next() const { return alarms_.next().value_or(kNever); }

  // Of the instances that use much, or have until now.
  const std::map<model::InstanceKey, InstanceAlerts>& all() const { return alerts_; }
  // What people are told of an instance that uses too much; nullopt: it does not.
  std::optional<model::Problem> problem_of(const model::InstanceKey& key) const;

 private:
  bool is_watched(const Step& step, const model::InstanceKey& key) const;
  void compare(Context& context, const model::InstanceKey& key);

  std::map<model::InstanceKey, InstanceAlerts> alerts_;  // of those that are not quiet
  std::set<model::InstanceKey> marked_;
  Alarms<model::InstanceKey> alarms_;
};

}  // namespace berth::control
