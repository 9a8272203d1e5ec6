#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/network.h"
#include "network/netlink.h"
#include "network/network_namespace.h"
#include "session/fd.h"

// The connections that the kernel knows, of TCP and what UDP has instead, as far as their targets
// were put in place of what the clients asked for.
namespace berth::session {

struct Connection {
  // As the client has sent it.
  std::uint8_t protocol = 0;
  model::Ipv4 client;
  std::uint16_t client_port = 0;
  model::Ipv4 asked;
  std::uint16_t asked_port = 0;

  friend auto operator<=>(const Connection&, const Connection&) = default;
};

struct TrackedConnection {
  Connection connection;
  model::Ipv4 target;
  std::uint16_t target_port = 0;
  model::Ipv4 seen;  // as the target sees the client
  std::uint16_t seen_port = 0;
  bool is_over = false;  // gone, or both ends have ended it
};

// Not thread-safe.
class Conntrack {
 public:
  static Result<Conntrack> open(const network::NetworkNamespace& where);

  Result<std::vector<TrackedConnection>> list();
  // It is forgotten: its packets are as any other. One that is not there is nothing new.
  Result<void> remove(const Connection& connection);

 private:
  explicit Conntrack(network::Netlink netlink) : netlink_(std::move(netlink)) {}

  network::Netlink netlink_;
};

// What happens to connections of the calling thread's namespace, as it happens.
class ConntrackEvents {
 public:
  // A socket that does not block.
  static Result<Fd> open_socket();

  struct News {
    std::vector<TrackedConnection> connections;
    bool was_lost = false;  // some news have found no room: only a list helps
  };
  // Some of what waits there.
  static News read(int socket);
};

}  // namespace berth::session
