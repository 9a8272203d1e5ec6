#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/alarms.h"
#include "session/gateway.h"
#include "session/poller.h"

namespace berth::session {

// A gateway in user space, for every machine: one thread moves the bytes of all forwards. To open
// one costs the sockets that listen and nothing else.
class Forwarder final : public Gateway {
 public:
  struct Config {
    std::size_t connections_per_forward = 1'000;  // of TCP, and as many flows of UDP
    std::size_t connections_max = 16'384;         // of TCP, of all forwards together
    Duration connect_timeout = 10s;               // to the target
    Duration flow_quiet_max = 60s;
    // A socket that does not block, from where Reach::Network is reached; -1 and errno if there is
    // none. Called for each connection by the thread, and must not keep it. Without it: the
    // machine's own.
    std::function<int(int family, int type)> network_socket = {};
  };

  static Result<std::unique_ptr<Forwarder>> open(Config config, GatewayCallbacks callbacks);
  ~Forwarder() override;  // cuts all

  Result<void> open(const Forward& forward) override;
  void refuse_new(const std::string& id) override;
  void close(const std::string& id) override;
  void settle() override {}  // nothing outlives it
  std::optional<Traffic> traffic(const std::string& id) override;

 private:
  class OpenForward;

  Forwarder(Config config, GatewayCallbacks callbacks, std::unique_ptr<Poller> poller);

  Fd connect_to(const Endpoint& target, Reach reach, int type) const;
  std::optional<Time> tend(Time now);
  void deliver();

  const Config config_;
  const GatewayCallbacks callbacks_;
  const std::unique_ptr<Poller> poller_;

  // With the poller's lock.
  std::map<std::string, std::unique_ptr<OpenForward>> forwards_;
  std::size_t connections_ = 0;  // of TCP
  Alarms<std::string> alarms_;
  std::set<std::string> changed_;  // to be told of
};

}  // namespace berth::session
