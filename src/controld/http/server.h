#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "controld/api/services.h"
#include "shell/guests.h"
#include "trust/certificate.h"

namespace berth::controld::http {

struct Limits {
  shell::Guests::Limits remote = {.known_of_name = 2048};
  shell::Guests::Limits local = {.known_of_name = 4096};
  std::uint32_t header_bytes = 32 * 1024;
  Duration request_time = 30s;   // for a request to arrive, and a piece of an answer to be taken
  Duration idle_time = 120s;     // between two requests of a connection
  Duration stranger_time = 10s;  // for both of whoever has not shown who it is, and its handshake
};

struct Config {
  std::string socket;        // path of the unix socket; empty: none
  std::string socket_group;  // whose members may use it, beside root and our own user; empty: none
  std::string https;         // host:port, port 0: any; empty: none
  Limits limits = {};
};

// HTTP/1.1 with JSON: a unix socket, where the kernel says who calls, and an HTTPS port, where a
// certificate does. One thread serves all connections; nothing on it blocks.
class Server {
 public:
  // Listens when it returns. `services` must outlive it.
  static Result<std::unique_ptr<Server>> open(const api::Services& services, const Config& config);
  ~Server();

  std::uint16_t https_port() const;
  std::size_t connections() const;

  // Serves from now on; before that, connections wait.
  void start();

  // For connections that come from now on. Needed before the first one.
  Result<void> set_identity(const trust::KeyAndCertificate& server, const std::string& authority);

  // Ends all connections and the thread.
  void stop();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::controld::http
