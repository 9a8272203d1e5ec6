#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "berth/v1/agent.pb.h"

namespace grpc {
class ServerBuilder;
class Service;
}  // namespace grpc

namespace berth::link {

// What the server's end tells, from gRPC's threads; for one connection one call at a time. Must
// return quickly, and may call `send` and `disconnect`. `received` gives false if nobody can take
// the message: the stream is closed.
struct ServerEndListener {
  std::function<void(const std::string& node, std::uint64_t connection, const std::string& address,
                     const v1::Hello& hello)>
      connected;
  std::function<void(const std::string& node, std::uint64_t connection)> disconnected;
  std::function<bool(const std::string& node, std::uint64_t connection, v1::FromAgent message)>
      received;
};

struct ServerEndConfig {
  std::chrono::milliseconds hello_timeout{10'000};
  std::size_t queue_messages_max = 1024;  // what may wait for one agent
  std::size_t queue_bytes_max = 64u << 20;
};

// The control plane's end of all links: a gRPC service that the caller adds to its server. The
// node is the one of the certificate; who says another name in Hello is refused, and so is everyone
// without a node's certificate. A newer connection of a node replaces the older one: the end of the
// older is told first. Numbers of connections begin at 1, grow, and are never used again in this
// process.
class ServerEnd {
 public:
  explicit ServerEnd(ServerEndListener listener, ServerEndConfig config = {});
  ~ServerEnd();  // after the server; no listener is called after it

  // Sets what the link needs of the server that it is added to: how large a message may be, how
  // much all that comes may hold in memory, and how often peers may ask whether it is alive.
  void prepare(grpc::ServerBuilder& builder);

  grpc::Service& service();

  // Queued for this connection; dropped if it is gone. A queue that is full breaks the connection.
  void send(std::uint64_t connection, v1::ToAgent message);

  // Ends this connection, if it is there. As always `disconnected` is told later.
  void disconnect(std::uint64_t connection, const std::string& why);

  // Ends all streams; new ones are refused.
  void close();

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace berth::link
