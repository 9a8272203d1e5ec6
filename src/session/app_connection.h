#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "session/fd.h"
#include "session/poller.h"

namespace berth::session {

// Lines from and to one app, which may do what it likes: it is never waited for, and costs no more
// memory and time than these limits.
//
// Belongs to a poller: everything happens with its lock held.
class AppConnection {
 public:
  static constexpr std::size_t kUnsentMax = 256 << 10;
  // What a line costs beside its bytes, of those that are listened to in a second: more waits.
  static constexpr std::int64_t kLineCost = 256;

  struct Handlers {
    // False: it is not listened to any more; the connection is as good as over.
    std::function<bool(AppConnection&, std::string_view line)> line;
    std::function<bool(AppConnection&)> sent;  // all that there was; false: as before
    // Last: it may destroy the connection.
    std::function<void(AppConnection&)> over;
    std::function<void(Time)> call_at;  // `tend` shall be called
  };
  // `handlers` must outlive it.
  AppConnection(Poller& poller, Fd fd, const Handlers& handlers, std::int64_t bytes_per_second);

  [[nodiscard]] bool start() { return want(); }
  void allow_lines_of(std::size_t bytes) { line_max_ = bytes; }

  // Sends as much as there is room for and keeps the rest. False: it does not read, and what it was
  // not told is too much.
  bool send(std::string_view lines);
  bool has_unsent() const { return !unsent_.empty(); }

  // Last, too: it may turn out to be over.
  void tend(Time now);
  std::optional<Time> next() const { return listen_again_; }

 private:
  void ready(std::uint32_t events);
  bool advance(std::uint32_t events);
  bool receive();
  bool take_lines();
  void pay(std::size_t bytes);
  bool flush();
  bool want();

  const Handlers& handlers_;
  Watch watch_;
  std::size_t line_max_ = 0;
  std::string received_;
  std::size_t searched_ = 0;  // of it: there is no end of a line
  std::string unsent_;
  const std::int64_t bytes_per_second_;
  std::int64_t credit_;
  Time refilled_{};
  std::optional<Time> listen_again_;  // it has said too much
};

}  // namespace berth::session
