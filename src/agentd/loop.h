#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "agent/agent.h"
#include "agentd/inbox.h"
#include "store/store.h"

namespace berth::agentd {

// What the loop drives. Called by its thread; must return quickly.
struct LoopOutlets {
  std::function<void(const agent::Exited&)> forget;  // what follows from it is durable
  std::function<void(const agent::Action&)> perform;
  std::function<void(std::uint64_t connection, const model::Report&)> report;
};

// The thread that owns the core: takes facts, steps, makes durable, performs, in this order and for
// ever. While the store cannot take what was decided nothing is done, and it is tried again: what
// runs goes on running. If that lasts, the node is in error: nobody can start or stop anything
// here, and the controller is told so. When the store works again it is told everything anew.
class Loop {
 public:
  Loop(agent::Agent core, store::Store& store, Inbox& inbox, LoopOutlets outlets);

  // Returns when the inbox is closed. What was told before that is still made durable, so that no
  // end of a run is forgotten, but no longer acted on.
  void run();

 private:
  enum class Commit { Done, Ended };

  void turn(const std::vector<agent::Event>& batch);
  Commit make_durable(const std::vector<agent::Write>& writes);
  void note_connections(const std::vector<agent::Event>& batch);
  void send(const model::Report& report);
  void say_in_error(const Error& why);
  void say_all_anew();
  std::optional<Time> next_turn() const;

  agent::Agent core_;
  store::Store& store_;
  Inbox& inbox_;
  const LoopOutlets outlets_;
  const std::optional<Duration> watchdog_;
  std::optional<std::uint64_t> connection_;
  // The last words on this connection: number, command acted on, and the node as it was told last.
  std::optional<model::Report> said_;
  std::optional<Time> in_error_said_;  // last; nullopt: it is not in error
  std::optional<Time> wake_at_;
};

}  // namespace berth::agentd
