#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "agent/context.h"
#include "agent/pool/pool.h"
#include "agent/states.h"
#include "agent/wanted.h"
#include "model/instance.h"
#include "model/node.h"
#include "model/protocol.h"

namespace berth::agent {

// What the controller is told, and when: all of it first on each connection, then what changes, and
// a heartbeat when nothing does. What instances use is told with either, if it is not the same. At
// most one report per step. A full report needs the node, so nothing is said before the node has
// been observed.
class Reporter {
 public:
  void connected(std::uint64_t connection);
  void disconnected(std::uint64_t connection);

  void observed(Time now, const model::NodeInfo& node);
  // Why the store cannot be written; empty: it can.
  void observed_store(Time now, const std::string& problem);
  // No reason to speak. What has changed enough to matter goes with the next report, a heartbeat
  // perhaps; the node's total goes with every one.
  void measured(const Measured& usage);

  // The status of an instance as it is now; nullopt: it is gone.
  void show(const model::InstanceKey& key, const std::optional<model::ReportedStatus>& status);

  // The controller waits for a word: the report of this step, whatever it says, is sent.
  void answer() { must_answer_ = true; }
  void answer_fully() { must_be_full_ = true; }
  // Fully, and with what was told.
  void answer_with_orders() { must_be_full_ = must_have_orders_ = true; }

  // Ends the step: the report that is due, if any.
  std::optional<model::Report> report(const Context& context, const Wanted& wanted, States& states,
                                      Pool& pool);

  // When the next heartbeat is due, or the next state.
  std::optional<Time> next(const Config& config, const States& states) const;

 private:
  struct Figures {
    model::Usage usage;
    model::Footprint footprint;
  };

  bool can_speak() const { return connection_ && node_; }
  bool has_changes() const { return node_changed_ || !changed_.empty(); }
  Figures figures_of(const model::InstanceKey& key) const;
  bool is_due(const Context& context, const States& states, const Pool& pool) const;
  void tell_all(model::Report& report, const Wanted& wanted);
  void tell_changes(model::Report& report);
  void tell_node(model::Report& report, Time now) const;
  model::ReportedStatus measured_status(const model::ReportedStatus& status);

  std::optional<std::uint64_t> connection_;
  std::uint64_t revision_ = 0;
  std::optional<Time> last_sent_;  // on this connection

  std::optional<model::NodeInfo> node_;
  std::string store_problem_;
  std::map<model::RuntimeId, Time> not_ready_since_;
  std::optional<Measured> usage_;
  std::map<model::InstanceKey, model::ReportedStatus> statuses_;

  // What was measured, as it was told last.
  std::map<model::InstanceKey, Figures> told_;
  model::NodeMeasurement told_of_node_;
  std::set<model::InstanceKey> moved_;  // what is measured now differs enough from what was told

  // Since the last step.
  bool must_answer_ = false;
  bool must_be_full_ = false;  // stays until it could be said
  bool must_have_orders_ = false;
  bool node_changed_ = false;
  std::set<model::InstanceKey> changed_;
};

}  // namespace berth::agent
