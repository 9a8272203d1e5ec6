#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "session/endpoint.h"

// Where sessions are reached from outside. What every gateway promises is written down as tests in
// session/conformance.h.
namespace berth::session {

// From where a target can be reached.
enum class Reach {
  Machine,    // the machine itself: a process, or an address that it has a route to
  Network,    // the instances' own network
  Elsewhere,  // another node, where a gateway forwards it on
};

// One port outside, of one session. TCP and UDP have the same number; at least one of them.
struct Forward {
  std::string id;   // never used for another one
  Endpoint listen;  // of this machine
  std::optional<Endpoint> tcp;
  std::optional<Endpoint> udp;
  Reach reach = Reach::Machine;

  friend bool operator==(const Forward&, const Forward&) = default;
};

// Since the forward was opened. What UDP has instead of a connection: what one client sends and
// receives, until there was nothing for a while.
struct Traffic {
  std::uint64_t connections = 0;
  std::uint32_t open = 0;  // of them now
  // At least what clients and targets have sent; who counts packets counts their headers, too.
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;

  friend bool operator==(const Traffic&, const Traffic&) = default;
};

// Both must be there. Called by a thread of the gateway, which may call the gateway. What was on
// its way when a forward was closed may still be told.
struct GatewayCallbacks {
  // Somebody has come: the first connection or datagram.
  std::function<void(const std::string& id)> used;
  // How many connections are open; changes that are quickly one after the other are told as one.
  std::function<void(const std::string& id, std::uint32_t open)> connections;
};

// Safe to use from several threads. Nothing here waits for a peer or starts a program.
class Gateway {
 public:
  virtual ~Gateway() = default;

  // All of it or nothing; the same one again is nothing new. Connections that come when this has
  // returned are forwarded. Conflict: the port is taken, or the id is another forward's.
  virtual Result<void> open(const Forward& forward) = 0;

  // Nobody new is let in any more, whoever is connected stays. One that is not open is nothing new.
  virtual void refuse_new(const std::string& id) = 0;

  // Cuts what is connected. When it returns, nobody is let in any more and the port can be taken
  // again. One that is not open is nothing new.
  virtual void close(const std::string& id) = 0;

  // A gateway may go on forwarding when its process ends. The next life opens again what it still
  // wants, by which nothing changes for whoever is connected, and then calls this: what else there
  // is, is closed.
  virtual void settle() = 0;

  // nullopt: it is not open.
  virtual std::optional<Traffic> traffic(const std::string& id) = 0;
};

}  // namespace berth::session
