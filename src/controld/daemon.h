#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/config.h"
#include "controld/connection_limits.h"
#include "controld/identity/server_identity.h"

namespace berth::controld {

struct DaemonConfig {
  std::filesystem::path state_directory;
  std::string grpc;   // HOST:PORT; port 0: any that is free
  std::string https;  // the same
  std::string socket;
  std::string socket_group;
  std::vector<std::string> advertise;
  control::Config control;
  std::string version;
  CertificateTimes certificates = {};
  ConnectionLimits connections = connection_limits(1024);
};

// The control plane: the loop around the controller, its store, the link to the agents and the
// fronts of the API.
class Daemon {
 public:
  // Everything works when it returns. Where it listens is in "endpoints.json" of the state
  // directory. A store that is damaged falls back to its last good state (store::open_or_recover);
  // one that is used by another is an error. A disk that takes no write keeps nobody from starting
  // with what is there.
  static Result<std::unique_ptr<Daemon>> open(const DaemonConfig& config);
  ~Daemon();

  // Has the loop tell the watchdog of systemd that it still turns.
  void prove_alive();

 private:
  class Impl;
  explicit Daemon(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::controld
