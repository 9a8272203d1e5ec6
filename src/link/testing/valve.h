#pragma once

#include <atomic>
#include <string>
#include <thread>

namespace berth::link::testing {

// Stands between an agent and its server, for one connection. Once shut it passes nothing more, and
// neither side is told: as a cable that was pulled.
class Valve {
 public:
  explicit Valve(int server_port);
  ~Valve();

  std::string address() const;
  void shut() { is_shut_ = true; }

 private:
  void run();

  int server_port_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> is_shut_{false};
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

}  // namespace berth::link::testing
