#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "berth/v1/agent.pb.h"
#include "trust/certificate.h"

namespace berth::link {

// What the agent's end tells, from one of its threads, one call at a time. Must return quickly.
struct AgentEndListener {
  // Hello has been sent and taken; numbers grow.
  std::function<void(std::uint64_t connection)> connected;
  std::function<void(std::uint64_t connection, std::string why)> disconnected;
  std::function<void(std::uint64_t connection, v1::ToAgent message)> received;
  std::function<void(std::string why)> failed;  // optional: an attempt to connect came to nothing
};

struct AgentEndConfig {
  std::string server;  // host:port
  std::string node;
  std::string boot_id;
  std::string version;
  std::string authority;              // PEM
  trust::KeyAndCertificate identity;  // used for new connections; see `set_identity`

  std::chrono::milliseconds accept_timeout{10'000};  // for Hello to be taken
  std::chrono::milliseconds pause_min{100};          // between attempts; doubles
  std::chrono::milliseconds pause_max{2'000};
  std::size_t queue_messages_max = 1024;
  std::size_t queue_bytes_max = 64u << 20;
};

// The agent's end of the link: keeps one stream to the control plane, and connects again, with
// growing pauses, whenever it breaks. Never blocks who calls it.
class AgentEnd {
 public:
  AgentEnd(AgentEndConfig config, AgentEndListener listener);
  ~AgentEnd();  // no listener is called after it; not to be called by a listener
  AgentEnd(const AgentEnd&) = delete;
  AgentEnd& operator=(const AgentEnd&) = delete;

  // Queued for this connection; dropped if it is not the present one. A queue that is full breaks
  // the connection.
  void send(std::uint64_t connection, v1::FromAgent message);

  void set_identity(trust::KeyAndCertificate identity);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace berth::link
