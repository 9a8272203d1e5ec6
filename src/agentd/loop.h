#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agentd/inbox.h"
#include "agentd/unwritten.h"
#include "store/store.h"

namespace berth::agentd {

// What the loop drives. Called by its thread; must return quickly.
struct LoopOutlets {
  std::function<void(const agent::Exited&)> forget;  // what follows from it is durable
  std::function<void(const agent::Action&)> perform;
  std::function<void(const agent::PoolAction&)> perform_for_pool;
  std::function<void(std::uint64_t connection, const model::Report&)> report;
};

// The thread that owns the core: takes facts, steps, makes durable, performs, in this order and for
// ever; what is about pools is performed before it is durable. While the store cannot take what was
// decided, that is kept and tried again; the core knows, and begins nothing new: what runs goes on,
// may be stopped, and is reported as it is.
class Loop {
 public:
  Loop(agent::Agent core, store::Store& store, Inbox& inbox, LoopOutlets outlets);

  // Returns when the inbox is closed. What was told before that is still made durable, so that no
  // end of a run is forgotten, but no longer acted on.
  void run();

 private:
  void turn(const std::vector<agent::Event>& batch);
  // Whether all that was decided is durable.
  bool make_durable(const std::vector<agent::Write>& writes);
  bool try_to_write();
  void perform_at_once(const agent::Effects& effects);
  void perform(const agent::Effects& effects);
  void note_exits(const std::vector<agent::Event>& batch);
  void tell_of_store();
  void note_connections(const std::vector<agent::Event>& batch);
  std::optional<Time> next_turn() const;

  agent::Agent core_;
  store::Store& store_;
  Inbox& inbox_;
  const LoopOutlets outlets_;
  const std::optional<Duration> watchdog_;
  std::optional<std::uint64_t> connection_;
  Unwritten unwritten_;
  std::string store_problem_;  // of the last try; empty: it took everything
  std::string told_problem_;   // what the core knows of that
  Time write_again_;
  std::vector<agent::Exited> exits_;   // to be forgotten when what follows from them is durable
  std::vector<agent::Event> to_tell_;  // to the core, before anything else
  std::optional<Time> wake_at_;
};

}  // namespace berth::agentd
