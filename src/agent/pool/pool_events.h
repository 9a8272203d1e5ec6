#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "model/network.h"
#include "model/pool.h"
#include "model/run.h"

// What the agent hears and does about pool instances and their sessions, beside what it hears and
// does about any run.
namespace berth::agent {

// --- Facts -------------------------------------------------------------------------------------

struct PoolCommandReceived {
  model::PoolCommand command;
};
// The answer to Furnish.
struct Furnished {
  model::InstanceKey key;
  std::vector<model::SessionPort> ports;  // where it is to listen
  std::string socket;                     // of the session service; empty: it does not use that
  std::string token;
  std::string problem;  // why it is not furnished; empty: it is
};
// The app of the instance has connected to the session service, or is gone from there.
struct AppConnected {
  model::InstanceKey key;
};
struct AppDisconnected {
  model::InstanceKey key;
};
struct AppPinged {
  model::InstanceKey key;
};
// The answer to OpenInApp.
struct AppOpened {
  model::InstanceKey key;
  std::string session;
  std::string problem;  // empty: it has
};
// The answer to CloseInApp, or the app has ended it by itself.
struct AppClosed {
  model::InstanceKey key;
  std::string session;
};
struct AppCounted {
  model::InstanceKey key;
  std::string session;
  std::uint32_t clients = 0;
};
// The answer to OpenEndpoints.
struct EndpointsOpened {
  model::SessionRef ref;
  model::InstanceKey instance;
  std::string problem;   // empty: they are open
  bool is_taken = true;  // that is the problem: a stranger has one of the ports
};
// The answer to CloseEndpoints: no connection is left.
struct EndpointsClosed {
  model::SessionRef ref;
  model::InstanceKey instance;
};
// Somebody has come by one of its endpoints for the first time.
struct EndpointUsed {
  model::SessionRef ref;
  model::InstanceKey instance;
};

// --- Actions -----------------------------------------------------------------------------------

// Finds free ports for what the instance listens on, and a socket and a token for its app.
struct Furnish {
  model::InstanceKey key;
  std::vector<model::Port> ports;
  bool service = false;
  std::optional<model::Ipv4> address = {};  // in a network of its own: it listens there as it likes

  friend bool operator==(const Furnish&, const Furnish&) = default;
};
// An earlier life of the agent has furnished the instance: it keeps its ports, and the session
// service talks to its app, which knows itself by the token. No token: it does not use that.
struct ServeApp {
  model::InstanceKey key;
  std::string token;
  std::vector<model::SessionPort> ports = {};

  friend bool operator==(const ServeApp&, const ServeApp&) = default;
};
// The instance is over: its socket and its ports are not needed any more.
struct Unfurnish {
  model::InstanceKey key;

  friend bool operator==(const Unfurnish&, const Unfurnish&) = default;
};
struct OpenInApp {
  model::InstanceKey key;
  std::string session;
  std::string data;

  friend bool operator==(const OpenInApp&, const OpenInApp&) = default;
};
struct CloseInApp {
  model::InstanceKey key;
  std::string session;
  Duration grace{};

  friend bool operator==(const CloseInApp&, const CloseInApp&) = default;
};
struct OpenEndpoints {
  model::SessionRef ref;
  model::InstanceKey instance;
  std::vector<model::SessionPort> ports;
  bool is_elsewhere = false;  // the instance: its ports are another node's

  friend bool operator==(const OpenEndpoints&, const OpenEndpoints&) = default;
};
// Nobody new comes in. There is no answer.
struct RefuseNew {
  model::SessionRef ref;

  friend bool operator==(const RefuseNew&, const RefuseNew&) = default;
};
// And whoever is in is cut off.
struct CloseEndpoints {
  model::SessionRef ref;
  model::InstanceKey instance;

  friend bool operator==(const CloseEndpoints&, const CloseEndpoints&) = default;
};
// Kept beside the run, for the next life of the agent. Nothing waits for the disk.
struct KeepNote {
  model::InstanceKey key;
  model::RuntimeId runtime;
  model::RunId run;
  model::PoolNote note;

  friend bool operator==(const KeepNote&, const KeepNote&) = default;
};
using PoolAction = std::variant<Furnish, ServeApp, Unfurnish, OpenInApp, CloseInApp, OpenEndpoints,
                                RefuseNew, CloseEndpoints, KeepNote>;

}  // namespace berth::agent
