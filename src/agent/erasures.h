#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "agent/context.h"
#include "agent/events.h"
#include "base/alarms.h"

namespace berth::agent {

// The data of instances that were deleted, until they are gone from this node. What is to be erased
// is durable together with the command that says so; a try that fails is repeated after a while.
// One that is not answered is not asked for again: it may go on for long, and a second one could
// find the data of what was started since.
class Erasures {
 public:
  explicit Erasures(const std::set<model::InstanceKey>& restored);

  bool contains(const model::InstanceKey& key) const { return pending_.contains(key); }

  // Whether it is being erased at this moment, so that nothing of it may be started. Each try is
  // answered, sooner or later.
  bool is_busy(const model::InstanceKey& key) const { return busy_.contains(key); }

  // What the command wants erased, and what it wants to run after all. Gives all it is about.
  std::set<model::InstanceKey> take(const Context& context, const model::Command& command);

  // What an agent in doubt had to erase counts only as far as the command says so, too: it may have
  // been done, and the data be those of what ran since. Gives all that it had to.
  std::set<model::InstanceKey> forget_all_but(const Context& context,
                                              const model::Command& command);

  // Erases what nothing uses any more.
  void go_on(const Context& context, const model::InstanceKey& key, bool is_running);

  void answered(const Context& context, const DataErased& answer);

  std::vector<model::InstanceKey> take_due(Time now);
  std::optional<Time> next() const { return alarms_.next(); }

  // While it is erased it is listed, as something that is on its way out.
  static model::ReportedStatus status_of(const model::InstanceKey& key);

 private:
  std::set<model::InstanceKey> pending_;
  std::set<model::InstanceKey> busy_;
  std::set<model::InstanceKey> failed_;  // until it is tried again
  Alarms<model::InstanceKey> alarms_;    // when that is
};

}  // namespace berth::agent
