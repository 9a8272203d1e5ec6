#include "agentd/loop.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "agentd/persistence.h"
#include "shell/clock.h"
#include "shell/log.h"
#include "shell/notify.h"

namespace berth::agentd {
namespace {

using shell::LogLevel;

constexpr Duration kCommitRetry = 500ms;

void log_notes(const std::vector<agent::Note>& notes) {
  for (const agent::Note& note : notes) {
    if (note.about.empty()) {
      shell::log(LogLevel::Info, note.what);
    } else {
      shell::log(LogLevel::Info, note.what, {{"instance", note.about}});
    }
  }
}

}  // namespace

Loop::Loop(agent::Agent core, store::Store& store, Inbox& inbox, LoopOutlets outlets)
    : core_(std::move(core)),
      store_(store),
      inbox_(inbox),
      outlets_(std::move(outlets)),
      watchdog_(shell::watchdog_interval()) {}

void Loop::run() {
  turn({});
  while (!inbox_.closed()) {
    turn(inbox_.take(next_turn()));
    if (watchdog_) shell::notify_alive();
  }
}

std::optional<Time> Loop::next_turn() const {
  if (!watchdog_) return wake_at_;
  const Time fed = shell::now() + *watchdog_;
  return wake_at_ ? std::min(*wake_at_, fed) : fed;
}

void Loop::turn(const std::vector<agent::Event>& batch) {
  note_connections(batch);
  const agent::Effects effects = core_.step(shell::now(), batch);
  wake_at_ = effects.wake_at;
  if (make_durable(effects.writes) == Commit::Ended) return;
  log_notes(effects.notes);
  for (const agent::Event& event : batch) {
    if (const auto* exited = std::get_if<agent::Exited>(&event)) outlets_.forget(*exited);
  }
  if (inbox_.closed()) return;
  for (const agent::Action& action : effects.actions) outlets_.perform(action);
  if (!connection_) return;
  for (const model::Report& report : effects.reports) outlets_.report(*connection_, report);
}

Loop::Commit Loop::make_durable(const std::vector<agent::Write>& writes) {
  if (writes.empty()) return Commit::Done;
  const std::vector<store::Change> changes = to_changes(writes);
  bool was_told = false;
  while (true) {
    const Result<void> committed = store_.commit(changes);
    if (committed) break;
    if (!std::exchange(was_told, true)) {
      shell::log(LogLevel::Error, "the store cannot take what was decided; nothing new is begun",
                 {{"error", committed.error().message}});
    }
    if (inbox_.wait_for_close(shell::now() + kCommitRetry)) return Commit::Ended;
    if (watchdog_) shell::notify_alive();
  }
  if (was_told) shell::log(LogLevel::Info, "the store takes changes again");
  return Commit::Done;
}

void Loop::note_connections(const std::vector<agent::Event>& batch) {
  for (const agent::Event& event : batch) {
    if (const auto* connected = std::get_if<agent::Connected>(&event)) {
      connection_ = connected->connection;
    } else if (const auto* lost = std::get_if<agent::Disconnected>(&event)) {
      if (connection_ == lost->connection) connection_.reset();
    }
  }
}

}  // namespace berth::agentd
