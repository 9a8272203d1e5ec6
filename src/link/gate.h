#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "shell/guests.h"

namespace grpc {
class ServerBuilder;
class ServerCredentials;
}  // namespace grpc

namespace berth::link {

struct GateConfig {
  std::string host;
  std::uint16_t port = 0;  // 0: any that is free
  shell::Guests::Limits guests = {};
  // How long a stranger may say nothing, and then how long its handshake may take.
  std::chrono::milliseconds patience{10'000};
  // How long a handshake may take while others wait for theirs.
  std::chrono::milliseconds hurry{2'000};
};

// The port of a gRPC server, which accepts connections itself and hands them on. gRPC 1.51 accepts
// whatever comes until it has no descriptor left, and then never again. Here a connection that has
// said nothing yet costs one descriptor, for a while; handshakes are few at a time; and whoever has
// made a call, for which the server wants a certificate, is known and has room that strangers
// cannot take. See ADR 29.
class Gate {
 public:
  // Listens when it returns; who connects waits.
  static Result<std::unique_ptr<Gate>> listen(const GateConfig& config);
  ~Gate();  // after the server

  std::uint16_t port() const;

  // Makes this the port of the server that is being built. Once.
  void prepare(grpc::ServerBuilder& builder,
               const std::shared_ptr<grpc::ServerCredentials>& credentials);

  // Lets in, once the server has been started.
  void open();
  // Lets nobody in any more; before the server is shut down.
  void close();

  // Has the gate's own thread say whether it can let anybody in: nullopt, or why not.
  using Health = std::function<void(const std::optional<Error>&)>;
  void ask(Health done);

 private:
  class Impl;
  explicit Gate(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::link
