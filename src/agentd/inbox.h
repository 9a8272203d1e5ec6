#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <vector>

#include "agent/events.h"
#include "base/time.h"
#include "shell/mailbox.h"

namespace berth::agentd {

// The facts for the core, from all threads. What this machine tells is bounded by what runs on it,
// and is never refused: an end of a run is told only once. What a peer sends is refused when too
// much of it waits.
class Inbox {
 public:
  void tell(agent::Event event);

  // False: refused. Commands may be lost; the next report tells the controller that it was.
  [[nodiscard]] bool tell_command(model::Command command);
  // The same: it is sent again when the agent gets no further.
  [[nodiscard]] bool tell_pool_command(model::PoolCommand command);

  // While this is so, no more should come: they are large.
  bool states_wait() const { return states_ > 0; }

  // Dropped if the last one was not looked at yet.
  void tell_usage(agent::Measured measured);

  // See shell::Mailbox.
  std::vector<agent::Event> take(std::optional<Time> until);
  bool wait_for_close(Time until) { return box_.wait_for_close(until); }
  void close() { box_.close(); }
  bool closed() const { return box_.closed(); }

 private:
  static constexpr std::size_t kEventsMax = 1u << 20;
  static constexpr std::size_t kCommandsMax = 64;
  static constexpr std::size_t kPoolCommandsMax = 256;

  shell::Mailbox<agent::Event> box_{kEventsMax};
  std::atomic<std::size_t> commands_ = 0;
  std::atomic<std::size_t> pool_commands_ = 0;
  std::atomic<std::size_t> states_ = 0;
  std::atomic<bool> usage_waits_ = false;
};

}  // namespace berth::agentd
