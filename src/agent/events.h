#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "agent/pool/pool_events.h"
#include "base/time.h"
#include "model/instance.h"
#include "model/protocol.h"
#include "model/records.h"
#include "model/run.h"

// The deterministic core of the agent: commands, runtime events and time in; writes, actions of
// runtimes and reports out. Its promises: what it was told to run is kept running with no control
// plane in reach; reconnecting, or restarting the agent, restarts nothing that is healthy; late,
// repeated and reordered messages do no harm.
namespace berth::agent {

struct Config {
  model::NodeId node;
  std::string boot_id;            // new with each start of the agent
  Duration heartbeat = 2s;        // a report at least this often
  Duration stop_grace = 10s;      // between the polite and the final signal
  Duration action_timeout = 60s;  // what a runtime does not answer for so long is tried again
  Duration component_start_timeout = 60s;  // the same of a component, which is installed first
  Duration prepare_timeout = 20min;        // the same of fetching an image
  std::size_t instances_max = 10'000;      // a command that wants more is not carried out
  Duration state_resend = 10s;             // a state that nobody has looked at is reported again
  Duration doubt_patience = 15s;           // see Doubt: how long nothing is started
};

using model::RunId;

// What was durable when the agent started.
struct Restored {
  std::map<model::InstanceKey, model::WantedRecord> wanted;
  model::CommandNumber acted;
  std::optional<model::NodeNetwork> network;               // nullopt: it was never told
  std::map<model::InstanceKey, model::SavedState> handed;  // to be taken by the next start
  std::map<model::InstanceKey, model::SavedState> last;    // of what has ended, not yet heard
  std::set<model::InstanceKey> erasing;                    // whose data are to be erased
  std::optional<model::Receipt> receipt;                   // for the newest command carried out
  bool in_doubt = false;  // some of it, or all, is lost, or older than it should be: see Doubt
};

// --- Facts -------------------------------------------------------------------------------------

struct Connected {
  std::uint64_t connection = 0;
};
struct Disconnected {
  std::uint64_t connection = 0;
};
struct CommandReceived {
  model::Command command;
};
// The node as the machine looks now: capacity, partitions, runtimes and their readiness.
struct NodeObserved {
  model::NodeInfo info;
};
// The node no longer has this runtime, but something may still run on it: an earlier life of the
// agent started it. Told before the node is observed.
struct RuntimeLeft {
  model::RuntimeId runtime;
};
using model::FoundRun;
// The answer to ListRuns: all that this runtime has running, with what an earlier life of the agent
// has told it to start. It may also come unasked, after the runtime was restarted. What one runtime
// says comes in the order in which it happened, or not at all.
struct RunsListed {
  model::RuntimeId runtime;
  std::vector<FoundRun> runs;
};
struct Started {
  model::InstanceKey key;
  RunId run;
};
struct StartFailed {
  model::InstanceKey key;
  RunId run;
  model::Problem problem;
};
// The answers to Prepare, with its numbers.
struct Prepared {
  model::InstanceKey key;
  model::CommandNumber generation;
  std::uint32_t order = 0;
};
struct PrepareFailed {
  model::InstanceKey key;
  model::CommandNumber generation;
  std::uint32_t order = 0;
  model::Problem problem;
};
// What a runtime has to say of a run that has not ended: what its start waits for, or what is wrong
// although it runs. No reason: nothing any more.
struct Remarked {
  model::InstanceKey key;
  RunId run;
  model::Problem remark;
};
// What an instance has written to its state directory, packed. No digest: it was too large to be.
struct StateSaved {
  model::InstanceKey key;
  Bytes size;  // of the files
  std::string digest;
  std::string content;
  std::uint64_t order = 0;     // of two that overtake each other the greater counts
  std::string goes_on_from{};  // the name of the state that was last put there
};
// The instance ended, by itself or because it was stopped.
struct Exited {
  model::InstanceKey key;
  RunId run;
  std::int32_t exit_code = 0;
  model::Problem problem{};           // where the runtime knows more than the code, say OutOfMemory
  std::optional<StateSaved> state{};  // what it has left, if it changed since it was told last
};
// A health check has got its turn: from now on its answer is awaited. How long it waited for that
// says nothing of the instance.
struct CheckBegun {
  model::InstanceKey key;
  RunId run;
};
struct HealthChecked {
  model::InstanceKey key;
  RunId run;
  bool healthy = false;
  std::string message;
};
// The answer to SetPausing.
struct PausingSet {
  model::InstanceKey key;
  RunId run;
  std::uint32_t order = 0;
  std::string problem;  // why it could not be done; empty: it is so
};
struct Measured {
  model::Usage total;
  std::map<model::InstanceKey, model::Usage> instances;
  std::map<model::InstanceKey, model::Footprint> footprints;
  std::optional<model::NodeMeasurement> node;
};

// The answer to EraseData.
struct DataErased {
  model::InstanceKey key;
  std::string problem;  // why not all of it is gone; empty: it is
};

// Whether what a step has decided can be made durable. While it cannot, what runs goes on, and may
// be stopped; nothing is started or replaced. Told right after a step that could not be, and when
// it has been.
struct StoreObserved {
  std::string problem;  // empty: it can
};
// A stop was not carried out: what should replace the run could not be made durable.
struct StopWithheld {
  model::InstanceKey key;
  RunId run;
};

using Event =
    std::variant<Connected, Disconnected, CommandReceived, NodeObserved, RuntimeLeft, RunsListed,
                 Prepared, PrepareFailed, Started, StartFailed, StateSaved, Exited, CheckBegun,
                 HealthChecked, PausingSet, Measured, DataErased, StoreObserved, StopWithheld,
                 Remarked, PoolCommandReceived, Furnished, AppConnected, AppDisconnected, AppPinged,
                 AppOpened, AppClosed, AppCounted, EndpointsOpened, EndpointsClosed, EndpointUsed>;

// --- Effects -----------------------------------------------------------------------------------

// A durable change: `record` replaces what is stored for the key, nullopt erases it.
struct WriteWanted {
  model::InstanceKey key;
  std::optional<model::WantedRecord> record;

  friend bool operator==(const WriteWanted&, const WriteWanted&) = default;
};
struct WriteActed {
  model::CommandNumber acted;

  friend bool operator==(const WriteActed&, const WriteActed&) = default;
};
struct WriteReceipt {
  model::Receipt receipt;

  friend bool operator==(const WriteReceipt&, const WriteReceipt&) = default;
};
struct WriteNetwork {
  model::NodeNetwork network;

  friend bool operator==(const WriteNetwork&, const WriteNetwork&) = default;
};
// A state that was handed to us, until a run has taken it.
struct WriteHanded {
  model::InstanceKey key;
  std::optional<model::SavedState> state;

  friend bool operator==(const WriteHanded&, const WriteHanded&) = default;
};
// The last state of an instance that is no longer wanted, until the controller has heard it.
struct WriteLast {
  model::InstanceKey key;
  std::optional<model::SavedState> state;

  friend bool operator==(const WriteLast&, const WriteLast&) = default;
};
// Whether the data of the instance are to be erased.
struct WriteErasing {
  model::InstanceKey key;
  bool pending = true;

  friend bool operator==(const WriteErasing&, const WriteErasing&) = default;
};
// Whether what is stored is all that the agent was told; see Doubt.
struct WriteDoubt {
  bool in_doubt = true;

  friend bool operator==(const WriteDoubt&, const WriteDoubt&) = default;
};
using Write = std::variant<WriteWanted, WriteActed, WriteReceipt, WriteNetwork, WriteHanded,
                           WriteLast, WriteErasing, WriteDoubt>;

struct ListRuns {
  model::RuntimeId runtime;

  friend bool operator==(const ListRuns&, const ListRuns&) = default;
};
// Fetches what the instance needs, so that it can be started at once; see fetched_image_of. Nothing
// of it is stopped or started for that. It may take minutes, and does no harm if it is done
// already.
struct Prepare {
  model::InstanceSpec spec;
  model::CommandNumber generation;
  std::uint32_t order = 0;  // tells the tries apart

  friend bool operator==(const Prepare&, const Prepare&) = default;
};
struct Start {
  model::InstanceSpec spec;
  RunId run;
  std::optional<model::SavedState> state;  // to go on from, if it is newer than what was taken last

  friend bool operator==(const Start&, const Start&) = default;
};
// Answered by Exited, also when there is no such run. It ends a start that is under way, too.
struct Stop {
  model::InstanceKey key;
  model::RuntimeId runtime;
  RunId run;
  Duration grace{};

  friend bool operator==(const Stop&, const Stop&) = default;
};
// Answered by CheckBegun and HealthChecked. One that waits for its turn may be asked for again.
struct CheckHealth {
  model::InstanceSpec spec;
  RunId run;

  friend bool operator==(const CheckHealth&, const CheckHealth&) = default;
};
// The run shall stand still, or go on. Answered by PausingSet with the same number; it is no
// failure if it is so already.
struct SetPausing {
  model::InstanceKey key;
  model::RuntimeId runtime;
  RunId run;
  model::Pausing pausing = model::Pausing::Paused;
  std::uint32_t order = 0;

  friend bool operator==(const SetPausing&, const SetPausing&) = default;
};
// The networks of the node shall be as told, before anything that follows is started. There is no
// answer: a start that finds its network not working fails as any start does.
struct ApplyNetwork {
  model::NodeNetwork network;

  friend bool operator==(const ApplyNetwork&, const ApplyNetwork&) = default;
};
// Takes away the storage, state and logs of an instance that was deleted. Answered by DataErased,
// also when there is nothing.
struct EraseData {
  model::InstanceKey key;

  friend bool operator==(const EraseData&, const EraseData&) = default;
};
// Images that no run uses may go, but for these. There is no answer.
struct TidyImages {
  std::set<std::string> wanted;

  friend bool operator==(const TidyImages&, const TidyImages&) = default;
};
using Action = std::variant<ListRuns, Prepare, Start, Stop, CheckHealth, SetPausing, ApplyNetwork,
                            EraseData, TidyImages>;

// One line of the trail: what happened to which instance ("" = the node itself).
struct Note {
  std::string about;
  std::string what;

  friend bool operator==(const Note&, const Note&) = default;
};

struct Effects {
  std::vector<Write> writes;           // one atomic batch, durable before anything else is done
  std::vector<Action> actions;         // for the runtimes
  std::vector<Action> at_once;         // the same, about pools: these wait for nothing
  std::vector<PoolAction> for_pools;   // nor do these
  std::vector<model::Report> reports;  // to the controller, in order, over the present connection
  std::vector<Note> notes;
  std::optional<Time> wake_at;  // call step again no later than this

  friend bool operator==(const Effects&, const Effects&) = default;
};

}  // namespace berth::agent
