#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/instance.h"
#include "model/network.h"
#include "model/node.h"
#include "model/pool.h"

// What controller and agents say to each other. Numbers make every message safe to lose, repeat
// and reorder; which number means what is said beside each.
namespace berth::model {

// Orders of one controller's term. With several control planes the epoch tells their terms apart;
// a command is newer if its (epoch, number) is greater.
struct CommandNumber {
  std::uint64_t epoch = 0;
  std::uint64_t number = 0;

  friend bool operator==(const CommandNumber&, const CommandNumber&) = default;
  friend auto operator<=>(const CommandNumber&, const CommandNumber&) = default;
};

// The proof that the control plane of a cluster has given a command. The seal is made with a key
// that only that control plane has, so no node can invent one. Agents keep that of the newest
// command they have carried out, and show it on each connection: a control plane whose store has
// forgotten the command learns that it has.
struct Receipt {
  std::string cluster;
  CommandNumber number;
  std::string seal;
  std::uint64_t life = 0;  // of the control plane that gave it; 0: of an earlier release

  friend bool operator==(const Receipt&, const Receipt&) = default;
};

// What an agent shall run. A full command is the whole truth: what it does not list is stopped. A
// partial one changes only what it names, and is valid only for an agent that has acted on `base`;
// one that has not says so by its next report, and gets a full one.
struct Command {
  CommandNumber number;
  std::optional<CommandNumber> base;  // nullopt: full
  std::vector<InstanceSpec> run;
  std::vector<InstanceKey> stop;
  std::vector<InstanceKey> keep;  // full only: not listed above, and yet to go on as it was told
  bool report_fully = false;      // answer with a full report
  std::optional<NodeNetwork> network;  // always in a full one; in others when it changed
  // With content: of instances that come from another node. Without: what the agent has reported
  // under this digest has been looked at, and need not be reported again.
  std::vector<SavedState> states;
  std::vector<InstanceKey> erase;  // deleted for good: their storage and state shall be gone
  bool report_told = false;        // answer with a full report that has `told`
  std::optional<Receipt> receipt;  // of this very command; the shell that sends it seals it

  friend bool operator==(const Command&, const Command&) = default;
};

// What an agent was told last: enough to rebuild what a lost store has asked for.
struct ToldOrders {
  std::vector<InstanceSpec> run;
  std::optional<NodeNetwork> network;

  friend bool operator==(const ToldOrders&, const ToldOrders&) = default;
};

// What an agent says of itself. `revision` grows by one with each change that is reported; a full
// report carries the node and all its instances, a partial one only what changed, and a heartbeat
// nothing: its revision is that of the last change.
struct Report {
  std::string boot_id;
  std::uint64_t revision = 0;
  CommandNumber acted;  // the newest command carried out
  bool full = false;
  std::optional<NodeInfo> node;  // always in a full report; in others when it changed
  // Comes with `node`: for how long the runtimes that are not Ready have not been.
  std::map<RuntimeId, Duration> not_ready_for;
  std::optional<Usage> usage;  // measured total of the node
  std::vector<ReportedStatus> instances;
  std::vector<InstanceKey> gone;  // partial only: no longer there
  std::optional<NodeMeasurement> measurement;
  // Those that changed, again and again until a command says that they have been looked at. Their
  // generation means nothing. A report that says that an instance is gone has its last state too.
  std::vector<SavedState> states;
  // In a full report. To the core of the controller only what its own control plane has sealed.
  std::optional<Receipt> receipt;
  std::optional<ToldOrders> told;  // in a full report that was asked for it
  // In a full report: the runtimes that have yet to say what they run. What was last known to be
  // there may be there still; another full report follows when they have spoken.
  std::vector<RuntimeId> untold_runtimes;
  // What the agent was told is lost, or older than it should be, and `acted` is a guess: only a
  // full command can set that right.
  bool in_doubt = false;
  std::optional<PoolReport> pool;  // always in a full one; in others when it changed

  friend bool operator==(const Report&, const Report&) = default;
};

// A heartbeat repeats the last revision; anything else must be new to count.
inline bool is_heartbeat(const Report& report) {
  return !report.full && !report.node && report.instances.empty() && report.gone.empty() &&
         report.states.empty() && !report.pool;
}

}  // namespace berth::model
