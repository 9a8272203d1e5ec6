#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "control/tables.h"
#include "model/instance.h"
#include "model/manifest.h"
#include "model/override.h"
#include "model/protocol.h"
#include "model/records.h"
#include "placement/plan.h"

// What goes into the controller (facts) and what comes out of it (effects).
namespace berth::control {

using ConnectionId = std::uint64_t;  // grows with each connection that is accepted
using CallId = std::uint64_t;        // the shell's name for a caller who waits for replies
using ListenerId = std::uint64_t;

// --- Facts -------------------------------------------------------------------------------------

// The node has authenticated on a new connection, which replaces any older one.
struct NodeConnected {
  model::NodeId node;
  ConnectionId connection = 0;
  std::string address = {};  // where it comes from, and its sessions can be reached; empty: here
};
struct NodeDisconnected {
  model::NodeId node;
  ConnectionId connection = 0;
};
struct NodeReported {
  model::NodeId node;
  ConnectionId connection = 0;
  model::Report report;
};

// Adds or replaces documents, all or none. Answered by Accepted, or an Error; then by Finished when
// every addressed node has confirmed or the run timeout has passed.
struct ApplyCall {
  CallId call = 0;
  model::Manifest documents;
  std::optional<std::uint64_t> if_revision;
  bool allow_partial = false;  // of a new version: keep it where it works
};
// Removes a document, by its kind and id ("base", of an Item "id@version", of an Application
// "namespace/name"); or, kind "Instance", a cached instance ("item/subject/index") and its data.
enum class Cascade { No, Yes };          // of a Namespace: with what is in it
enum class Farewell { WithGrace, Now };  // to the sessions of applications
struct DeleteCall {
  CallId call = 0;
  std::string kind;
  std::string name;
  Cascade cascade = Cascade::No;
  Farewell farewell = Farewell::WithGrace;
};
enum class Scheduling { Allowed, Cordoned };
struct CordonCall {
  CallId call = 0;
  model::NodeId node;
  Scheduling scheduling = Scheduling::Cordoned;
};
// Cordons a node and has all that runs there go elsewhere, components excepted; see DrainOrder. It
// is done when the node says that nothing is left. Ended by a CordonCall that allows scheduling.
struct DrainCall {
  CallId call = 0;
  model::NodeId node;
  std::string why;
  Duration deadline{};  // 0: none
};
// Has a service stand still wherever it runs, or go on; kept until it is no longer asked for.
struct PauseCall {
  CallId call = 0;
  model::InstanceKey key;
  model::Pausing pausing = model::Pausing::Paused;
};
enum class RebalanceScope {
  Overloaded,  // as few as possible leave overloaded nodes
  Everything,  // all that may move is placed anew
};
// One at a time; later ones wait. Answered like ApplyCall when its turn has come. If something that
// runs would be left without a place, nothing is done, and the answer is an Error.
struct RebalanceCall {
  CallId call = 0;
  RebalanceScope scope = RebalanceScope::Overloaded;
};
// Forgets a node for good; refused while it is connected.
struct ForgetNodeCall {
  CallId call = 0;
  model::NodeId node;
};

enum class Release {
  Accept,  // the store is the truth
  Adopt,   // what agents run and were told is
};
// Ends a hold (control/hold/hold.h) by an operator's decision.
struct ReleaseCall {
  CallId call = 0;
  Release how = Release::Accept;
};

// Asks for a session of the application. Answered by a SessionReply when its endpoints are good, or
// at its deadline, or at once if too many wait. The same caller who asks again with the same
// request id, or the same name, gets the same session.
struct OpenSessionCall {
  CallId call = 0;
  model::ApplicationKey application;
  std::string name;  // empty: it is called like its instance
  std::string request_id;
  std::string caller;
  std::string data;
  std::optional<Duration> timeout;
  std::optional<Duration> ttl;
  std::optional<bool> reopen;
};
// Answered when it is over. With a grace of 0 its instance is killed.
struct CloseSessionCall {
  CallId call = 0;
  model::SessionKey session;
  std::optional<Duration> grace;  // nullopt: as its application says
};
// Nobody waits for the answer of an open call any more: if it is not available yet, it is closed.
struct SessionCallerGone {
  CallId call = 0;
};
// All writes up to this revision are durable. Only told after a step that asked for it.
struct WritesDurable {
  std::uint64_t revision = 0;
};

struct Subscribed {
  ListenerId listener = 0;
};
struct Unsubscribed {
  ListenerId listener = 0;
};

using Event =
    std::variant<NodeConnected, NodeDisconnected, NodeReported, ApplyCall, DeleteCall, CordonCall,
                 DrainCall, PauseCall, RebalanceCall, ForgetNodeCall, ReleaseCall, OpenSessionCall,
                 CloseSessionCall, SessionCallerGone, WritesDurable, Subscribed, Unsubscribed>;

// --- Effects -----------------------------------------------------------------------------------

struct Outgoing {
  model::NodeId node;
  ConnectionId connection = 0;
  model::Command command;

  friend bool operator==(const Outgoing&, const Outgoing&) = default;
};

// To an agent, about its pools: durable on neither side, so it waits for nothing that is being made
// durable. Those to one connection arrive in their order, or not at all.
struct PoolOutgoing {
  model::NodeId node;
  ConnectionId connection = 0;
  model::PoolCommand command;

  friend bool operator==(const PoolOutgoing&, const PoolOutgoing&) = default;
};

enum class ConsequenceKind { Start, Stop, Move, Update, Restart };

enum class Downtime {
  None,        // it starts, or runs at its new place before it stops at the old one
  Stops,       // for good
  StopsFirst,  // at its old place, before it starts at the new one
  Restarts,    // where it is
  DownNow,     // its node does not run it any more
};

std::string_view to_string(ConsequenceKind kind);
std::string_view to_string(Downtime downtime);

// What is going to happen to an instance.
struct Consequence {
  model::InstanceKey key;
  ConsequenceKind kind = ConsequenceKind::Start;
  std::string version;
  std::optional<model::Place> place;  // where it will be, or, of one that stops, was
  std::optional<model::Place> from;   // if that is somewhere else
  Downtime downtime = Downtime::None;

  friend bool operator==(const Consequence&, const Consequence&) = default;
};

// The request is durable and placed; what could not be placed says why. `consequences` is what
// follows from it, to whomever. A rebalance says what it does for each overloaded node, and what it
// moves.
struct Accepted {
  std::uint64_t revision = 0;
  std::map<model::InstanceKey, model::Problem> refused;  // that it asked for, or that it concerns
  std::size_t refused_others = 0;
  std::vector<Consequence> consequences = {};
  std::vector<placement::Relief> relief = {};
  std::vector<model::InstanceKey> moved = {};

  friend bool operator==(const Accepted&, const Accepted&) = default;
};
// A new version that waits for nodes that are away.
struct Incomplete {
  model::ItemId item;
  model::SubjectId subject;
  std::string version;
  std::uint32_t updated = 0;  // of `total` instances
  std::uint32_t total = 0;
  std::set<model::NodeId> away;

  friend bool operator==(const Incomplete&, const Incomplete&) = default;
};
struct Finished {
  bool timed_out = false;
  std::vector<model::InstanceStatus> statuses;
  std::vector<model::RolloutRecord> rolled_back;  // versions that did not come up
  std::vector<Incomplete> incomplete = {};
  // A later call asks for something else: by this revision.
  std::optional<std::uint64_t> superseded_by = {};

  friend bool operator==(const Finished&, const Finished&) = default;
};
struct Reply {
  CallId call = 0;
  std::variant<Accepted, Finished, Error> answer;

  friend bool operator==(const Reply&, const Reply&) = default;
};

// As many wait as may be served.
struct SessionBusy {
  Duration retry_after{};
  std::string why;

  friend bool operator==(const SessionBusy&, const SessionBusy&) = default;
};
struct SessionReply {
  CallId call = 0;
  std::variant<model::SessionStatus, SessionBusy, Error> answer;

  friend bool operator==(const SessionReply&, const SessionReply&) = default;
};

enum class NoteKind {
  NodeJoined,
  NodeBack,
  NodeUnreachable,
  NodeLost,
  NodeInError,
  NodeReadOnly,
  NodeWritable,
  NodeForgotten,
  NodeDraining,
  NodeDrained,
  NodeOverloaded,
  NodeRelieved,
  ConditionChanged,
  Rebalanced,
  NotRelieved,
  Settled,
  Placed,
  Moved,
  Updated,
  Refused,
  Removed,
  Adopted,
  StatusChanged,
  ReportGap,
  CommandResent,
  ConnectionNotAllowed,
  RolloutBegun,
  RolloutDone,
  RolloutFailed,
  OverrideExpired,
  Deleted,
  Erased,
  Paused,
  Resumed,
  AlertRaised,
  AlertEnded,
  MoveFailed,
  Held,
  HeldOn,
  HoldEnded,
  ReportRefused,
  PoolInstanceStarted,
  PoolInstanceEnded,
  PoolNotPlaced,
  SessionOpened,
  SessionEnded,
};

std::string_view to_string(NoteKind kind);

// One line of the typed trail: log, event feed and simulation trace are made of these.
struct Note {
  NoteKind kind = NoteKind::Settled;
  std::string about;  // "node/n1", "instance/telemetry/vehicle/0", "" = the controller
  std::string text;

  friend bool operator==(const Note&, const Note&) = default;
};

struct Effects {
  std::vector<Write> writes;       // one atomic batch, durable before anything else is done
  std::vector<Outgoing> commands;  // to agents
  std::vector<PoolOutgoing> pool_commands;     // to agents, at once: not even after the writes
  std::vector<Reply> replies;                  // to callers
  std::vector<model::InstanceStatus> changes;  // for every listener
  std::vector<model::NodeId> readiness_of;  // nodes that have said something else of their runtimes
  std::vector<Note> notes;
  // These wait for no disk: they are about what is not durable.
  std::vector<SessionReply> session_replies;
  std::vector<model::SessionStatus> session_changes;  // for whoever watches
  std::vector<model::ApplicationKey> pools_changed;   // the same
  bool tell_when_durable = false;                     // by WritesDurable
  std::optional<Time> wake_at;                        // call step again no later than this

  friend bool operator==(const Effects&, const Effects&) = default;
};

}  // namespace berth::control
