#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "model/application.h"
#include "model/ids.h"
#include "model/instance.h"
#include "model/item.h"
#include "model/names.h"

// What controller and agents say to each other about pool instances and sessions. None of it is
// durable on either side: see docs/adr/0050.
namespace berth::model {

// It only goes forward; Closed, Timeout and Failed are the ends.
enum class SessionState {
  Pending,    // waits for an instance
  Starting,   // its instance is told
  Available,  // its endpoints are good
  InUse,      // there were clients
  Closing,
  Closed,
  Timeout,
  Failed,
};

template <>
struct Names<SessionState> {
  static constexpr std::string_view kWhat = "session state";
  static constexpr std::array kTable{
      Word<SessionState>{SessionState::Pending, "pending"},
      Word<SessionState>{SessionState::Starting, "starting"},
      Word<SessionState>{SessionState::Available, "available"},
      Word<SessionState>{SessionState::InUse, "in-use"},
      Word<SessionState>{SessionState::Closing, "closing"},
      Word<SessionState>{SessionState::Closed, "closed"},
      Word<SessionState>{SessionState::Timeout, "timeout"},
      Word<SessionState>{SessionState::Failed, "failed"},
  };
};

constexpr bool is_over(SessionState state) { return state >= SessionState::Closed; }
constexpr bool is_usable(SessionState state) {
  return state == SessionState::Available || state == SessionState::InUse;
}

// "games/blue".
struct SessionKey {
  std::string ns;
  std::string name;

  friend bool operator==(const SessionKey&, const SessionKey&) = default;
  friend auto operator<=>(const SessionKey&, const SessionKey&) = default;
};

std::string to_string(const SessionKey& key);

// The same name, opened again after it was lost, is another incarnation.
struct SessionRef {
  SessionKey key;
  std::uint32_t incarnation = 1;

  friend bool operator==(const SessionRef&, const SessionRef&) = default;
  friend auto operator<=>(const SessionRef&, const SessionRef&) = default;
};

// A port of the item, and where it is reached from outside.
struct SessionPort {
  Port port;
  std::string external_address;
  std::uint16_t external = 0;
  std::string internal;  // "address:port", where the instance listens; known to its agent first

  friend bool operator==(const SessionPort&, const SessionPort&) = default;
};

// All of a session that its agent keeps, so that it can be learnt from there. What it may take is
// in durations: the agent has the clock.
struct SessionSpec {
  static constexpr std::size_t kDataMax = 64 << 10;

  SessionRef ref;
  InstanceKey instance;
  std::string request_id;
  std::string caller;  // who has opened it
  std::string data;    // for the app, as it came
  std::vector<SessionPort> ports;
  Duration close_grace{};
  Duration claim{};  // 0: nobody has to
  std::optional<Duration> ttl;
  std::optional<Duration> idle_timeout;
  bool reopen = false;

  friend bool operator==(const SessionSpec&, const SessionSpec&) = default;
};

// --- What agents are told ----------------------------------------------------------------------

struct StartPoolInstance {
  InstanceSpec spec;
  std::uint64_t edition = 0;  // of what the application asks for: the agent tells it back
  SessionOptions sessions;

  friend bool operator==(const StartPoolInstance&, const StartPoolInstance&) = default;
};
struct StopPoolInstance {
  InstanceKey key;
  Duration grace{};  // 0: it is killed

  friend bool operator==(const StopPoolInstance&, const StopPoolInstance&) = default;
};
struct SetPoolPausing {
  InstanceKey key;
  Pausing pausing = Pausing::Paused;

  friend bool operator==(const SetPoolPausing&, const SetPoolPausing&) = default;
};
// Ports that say where the session is reached (`internal`) are told to the gateway: the instance is
// on another node, and this one only forwards.
struct OpenSession {
  SessionSpec session;

  friend bool operator==(const OpenSession&, const OpenSession&) = default;
};
struct CloseSession {
  SessionRef ref;
  InstanceKey instance;
  Duration grace{};
  Problem reason;

  friend bool operator==(const CloseSession&, const CloseSession&) = default;
};
using PoolOrder =
    std::variant<StartPoolInstance, StopPoolInstance, SetPoolPausing, OpenSession, CloseSession>;

// Numbered from 1 on each connection, without gaps. An agent carries them out one after the other;
// a repeated one is nothing new, and one after a gap is ignored until those before it have come
// again. What was told on an earlier connection counts if it had come: the first report tells.
struct PoolCommand {
  static constexpr std::size_t kOrdersMax = 1000;

  std::uint64_t epoch = 0;
  std::uint64_t life = 0;  // of the control plane
  std::uint64_t number = 0;
  std::vector<PoolOrder> orders;

  friend bool operator==(const PoolCommand&, const PoolCommand&) = default;
};

// --- What agents report ------------------------------------------------------------------------

enum class PoolInstanceState { Starting, Running, Paused, Stopping, Gone };

template <>
struct Names<PoolInstanceState> {
  static constexpr std::string_view kWhat = "state of a pool instance";
  static constexpr std::array kTable{
      Word<PoolInstanceState>{PoolInstanceState::Starting, "starting"},
      Word<PoolInstanceState>{PoolInstanceState::Running, "running"},
      Word<PoolInstanceState>{PoolInstanceState::Paused, "paused"},
      Word<PoolInstanceState>{PoolInstanceState::Stopping, "stopping"},
      Word<PoolInstanceState>{PoolInstanceState::Gone, "gone"},
  };
};

// Running: it can serve sessions, and has said so if it uses the session service.
struct ReportedPoolInstance {
  InstanceKey key;
  std::string item;  // what it runs
  std::string version;
  std::uint64_t edition = 0;
  RuntimeId runtime;
  std::uint32_t image = 0;
  std::uint32_t uid = 0;
  PoolInstanceState state = PoolInstanceState::Starting;
  Problem problem;                      // why it is gone, or cannot be paused
  bool cannot_pause = false;            // its runtime cannot
  std::vector<SessionPort> ports = {};  // `port` and `internal`: where it listens

  friend bool operator==(const ReportedPoolInstance&, const ReportedPoolInstance&) = default;
};

// `session.data` only of one to be opened again when it is lost, and in full reports.
struct ReportedSession {
  SessionSpec session;
  SessionState state = SessionState::Starting;
  Problem reason;
  std::uint32_t clients = 0;
  Duration open_for{};  // since it became available

  friend bool operator==(const ReportedSession&, const ReportedSession&) = default;
};

// Part of a report. In a full one: all that there is. In others what has changed.
struct PoolReport {
  std::uint64_t acted = 0;  // the newest command of this connection that was carried out
  std::vector<ReportedPoolInstance> instances;
  std::vector<ReportedSession> sessions;
  std::optional<Usage> usage;  // measured, of all pool instances together

  friend bool operator==(const PoolReport&, const PoolReport&) = default;
};

// --- What callers are told ---------------------------------------------------------------------

struct SessionStatus {
  SessionRef ref;
  ApplicationKey application;
  InstanceKey instance;  // empty: it has none
  NodeId node;
  SessionState state = SessionState::Pending;
  Problem reason;
  std::vector<SessionPort> endpoints;
  std::uint32_t clients = 0;
  // Dates, since 1970.
  Duration created_at{};
  std::optional<Duration> available_at;
  std::optional<Duration> ended_at;

  friend bool operator==(const SessionStatus&, const SessionStatus&) = default;
};

// --- What an agent keeps beside a run ----------------------------------------------------------

// A session as it has to go on after a restart of the agent. Times are of the machine's clock.
struct KeptSession {
  SessionSpec session;
  SessionState state = SessionState::Starting;
  std::optional<Time> available_at;
  bool claimed = false;
  std::uint32_t clients = 0;
  std::optional<Time> idle_since;
  std::optional<Time> closes_by;  // Closing: then its instance is stopped
  Problem reason;

  friend bool operator==(const KeptSession&, const KeptSession&) = default;
};

// As long-lived as the run: nothing waits until the disk has it.
struct PoolNote {
  std::uint64_t edition = 0;
  SessionOptions options;
  std::string token;  // by which the app shows who it is
  std::vector<SessionPort> ports;
  std::vector<KeptSession> sessions;

  friend bool operator==(const PoolNote&, const PoolNote&) = default;
};

}  // namespace berth::model
