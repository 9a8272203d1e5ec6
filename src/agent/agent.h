#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "agent/context.h"
#include "agent/doubt.h"
#include "agent/erasures.h"
#include "agent/events.h"
#include "agent/image_care.h"
#include "agent/instance.h"
#include "agent/pool/pool.h"
#include "agent/reporter.h"
#include "agent/runtimes.h"
#include "agent/shared_use.h"
#include "agent/states.h"
#include "agent/waiting.h"
#include "agent/wanted.h"
#include "base/alarms.h"
#include "base/time.h"

namespace berth::agent {

// The deterministic core of the agent: facts and time in; writes, actions for the runtimes and
// reports out. Its promises: what it was told to run is kept running with no control plane in
// reach; reconnecting, or restarting the agent, restarts nothing that is healthy; late, repeated
// and reordered messages do no harm. Not thread-safe, does no I/O, reads no clock.
//
// A step costs what changed and what is due, whatever the number of instances; only a runtime that
// lists its runs, and a full report, cost all of them.
class Agent {
 public:
  Agent(Config config, Restored restored);

  // Records the facts, decides, returns what must happen. The shell must make `writes` durable
  // before it does anything else.
  Effects step(Time now, std::span<const Event> batch);

 private:
  void record(const Context& context, const Connected& event);
  void record(const Context& context, const Disconnected& event);
  void record(const Context& context, const CommandReceived& event);
  void record(const Context& context, const NodeObserved& event);
  void record(const Context& context, const RuntimeLeft& event);
  void record(const Context& context, const RunsListed& event);
  void record(const Context& context, const Prepared& event);
  void record(const Context& context, const PrepareFailed& event);
  void record(const Context& context, const Started& event);
  void record(const Context& context, const StartFailed& event);
  void record(const Context& context, const StateSaved& event);
  void record(const Context& context, const Exited& event);
  void record(const Context& context, const CheckBegun& event);
  void record(const Context& context, const HealthChecked& event);
  void record(const Context& context, const PausingSet& event);
  void record(const Context& context, const Measured& event);
  void record(const Context& context, const DataErased& event);
  void record(const Context& context, const StoreObserved& event);
  void record(const Context& context, const StopWithheld& event);
  void record(const Context& context, const Remarked& event);
  // What only pools care about.
  template <class Event>
  void record(const Context& context, const Event& event) {
    pool_.record(context, event);
  }

  // Networks come before all that is started.
  void apply_network(const Context& context);
  bool may_apply_network_in_doubt() const;
  void hand_to_pool(const Context& context, const RunsListed& event);
  bool is_newer_than_known(const std::vector<FoundRun>& runs) const;
  bool has_network(const model::InstanceSpec& spec) const;
  void forget_what_is_kept_but_gone(const Context& context, const model::Command& command);
  enum class Before { Known, InDoubt };
  void take_states(const Context& context, const model::Command& command, Before before);
  void complain_of(const model::InstanceKey& key, const model::Footprint& footprint);

  void carry_out(const Context& context, const model::Command& command);
  // Why the command is not carried out; "" if it is.
  std::string objection(const model::Command& command) const;

  Instance& touch(const model::InstanceKey& key);
  Instance* touch_known(const model::InstanceKey& key);
  void touch_waiting_for(const model::RuntimeId& runtime);
  void touch_all_waiting();
  void touch_all();

  std::vector<model::InstanceKey> take_touched_in_scheduling_order();
  void advance(const Context& context, const model::InstanceKey& key);
  void decide(const Context& context, const model::InstanceKey& key);
  void record_early_states(const Context& context);
  void drop_taken_state(const Context& context, const model::InstanceKey& key,
                        const Instance& instance);
  void settle(const Context& context, const model::InstanceKey& key, Instance& instance);
  bool can_write() const { return store_problem_.empty(); }
  // It may be started now. Otherwise it is said why not, and it waits.
  bool is_admitted(const Context& context, const model::WantedRecord& wanted, Instance& instance);
  void try_prepare(const Context& context, const model::InstanceKey& key, Instance& instance);
  void look_at_prepared(const Context& context, const model::WantedRecord& wanted,
                        Instance& instance);
  void try_prepare(const Context& context, const model::Successor& successor,
                   Preparation& preparation);
  void try_start(const Context& context, const model::InstanceKey& key, Instance& instance);

  bool has_room(const model::WantedRecord& wanted) const;
  void watch_leftover(const model::InstanceKey& key, bool is_leftover);
  void watch_shared(const model::InstanceKey& key, const Instance& instance);

  // Whether the controller can be told all: what an earlier life has left running is known, but for
  // what runs where nobody answers.
  bool can_tell_all(Time now);
  void has_told_late(const model::RuntimeId& runtime);

  std::optional<Time> wake_at() const;

  Config config_;
  Doubt doubt_;
  States states_;
  std::map<model::InstanceKey, StateSaved> early_states_;  // of runs that we do not know yet
  Wanted wanted_;
  Erasures erasures_;
  Runtimes runtimes_;
  Reporter reporter_;
  Pool pool_;
  std::map<model::InstanceKey, Instance> instances_;  // all that are wanted or may be running
  Alarms<model::InstanceKey> alarms_;
  Waiting waiting_;
  bool must_apply_network_ = true;
  std::set<model::InstanceKey> touched_;  // to be decided in this step
  // Runs of an earlier life that are being stopped. What was told to run since then may have been
  // promised their room, and waits for it.
  std::set<model::InstanceKey> leftovers_;
  SharedUse shared_;
  ImageCare images_;
  std::string store_problem_;
  bool was_here_before_;               // and may have left something running
  std::optional<Time> silent_until_;   // for the runtimes to tell that, at the latest
  std::set<model::RuntimeId> untold_;  // those that had not by then, and have not since
};

}  // namespace berth::agent
