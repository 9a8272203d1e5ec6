#pragma once

#include <string>
#include <thread>

// A far end of `exec` for tests: one session over a WebSocket on a unix socket.
namespace berth::client::testing {

class ExecServer {
 public:
  struct Behaviour {
    bool declines = false;  // answers with an error instead of a WebSocket
    bool breaks = false;    // goes away after the first message
  };

  // Writes "INSTANCE COMMAND..." to stderr, echoes the input, and at its end exits with 7.
  explicit ExecServer(Behaviour behaviour);
  ExecServer() : ExecServer(Behaviour()) {}
  ~ExecServer();
  ExecServer(const ExecServer&) = delete;
  ExecServer& operator=(const ExecServer&) = delete;

  const std::string& socket() const { return socket_; }

 private:
  void serve(int listener, Behaviour behaviour);

  std::string directory_;
  std::string socket_;
  std::thread thread_;
};

}  // namespace berth::client::testing
