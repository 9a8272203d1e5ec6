#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "berth/v1/agent.pb.h"
#include "shell/periodic.h"
#include "trust/certificate.h"
#include "trust/files.h"

namespace berth::agentd {

// What becomes of a new certificate. `save` makes it durable, `use` takes it for new connections.
struct RenewalOutlets {
  std::function<void(std::uint64_t connection, v1::FromAgent)> send;
  std::function<Result<void>(const trust::Credentials&)> save;
  std::function<void(const trust::KeyAndCertificate&)> use;
  std::function<trust::WallTime()> now;
};

// Renews the certificate of this node long before it expires: with a new key, over the connection
// that the old one has opened. Looks at the start, with each connection and every hour. Safe to
// call from any thread, and quick: the work is done on a thread of its own.
class Renewal {
 public:
  Renewal(trust::Credentials credentials, RenewalOutlets outlets);

  void connected(std::uint64_t connection);
  void disconnected();
  void renewed(std::string certificate_pem);

 private:
  void turn();
  void ask(std::uint64_t connection);
  Result<void> take(const std::string& key, const std::string& certificate_pem);

  const RenewalOutlets outlets_;
  // Of the thread.
  trust::Credentials credentials_;
  // Until its certificate has come, however often it is asked for: then any answer fits.
  std::optional<std::string> new_key_;
  std::mutex mutex_;
  std::optional<std::uint64_t> connection_;
  std::optional<std::string> answer_;
  shell::Periodic thread_;  // the last: it uses the others
};

}  // namespace berth::agentd
