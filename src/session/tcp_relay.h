#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/time.h"
#include "session/fd.h"
#include "session/gateway.h"
#include "session/poller.h"

namespace berth::session {

// One connection through a gateway: a client's, and ours to the target. Bytes go both ways as they
// come, ends of one direction too. What one has sent and the other has not taken is at most one
// chunk: who sends faster than the other reads has to wait. An idle one has no buffers.
//
// Belongs to a poller: everything happens with its lock held.
class TcpRelay {
 public:
  static constexpr std::size_t kChunk = 64 << 10;

  struct Ends {
    Fd client;
    Fd target;  // on its way to be connected
  };
  // `over` is called, last, when both have gone or one has failed; it may destroy the relay.
  using Over = std::function<void(const TcpRelay&)>;
  TcpRelay(Poller& poller, Ends ends, Traffic& traffic, Over over);
  // What is still connected is reset, so that both sides know it at once.
  ~TcpRelay();

  // False: there is no room to wait for it.
  [[nodiscard]] bool start(Time connect_by);
  // nullopt: it is connected.
  std::optional<Time> connect_by() const { return connect_by_; }

 private:
  enum Side : std::size_t { kClient, kTarget };
  struct End {
    Watch watch;
    std::string unsent;      // what this one has not taken yet
    bool has_ended = false;  // sends nothing more
    bool was_ended = false;  // knows that it gets nothing more
  };

  static Side other(Side side) { return side == kClient ? kTarget : kClient; }

  void ready(Side side, std::uint32_t events);
  bool advance(Side side, std::uint32_t events);
  bool finish_connecting();
  bool pump_from(Side side);
  bool send_to(Side side, const char* bytes, std::size_t size);
  bool flush(Side side);
  bool pass_ends_on();
  bool want();
  bool is_done() const { return ends_[kClient].was_ended && ends_[kTarget].was_ended; }

  std::array<End, 2> ends_;
  Traffic& traffic_;
  const Over over_;
  std::optional<Time> connect_by_;
};

}  // namespace berth::session
