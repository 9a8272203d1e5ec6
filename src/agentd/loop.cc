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
constexpr Duration kInErrorAfter = 2s;  // a shorter trouble is not worth moving anything
constexpr Duration kInErrorEvery = 2s;

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
  if (in_error_said_) return say_all_anew();
  for (const model::Report& report : effects.reports) send(report);
}

void Loop::send(const model::Report& report) {
  if (!connection_) return;
  outlets_.report(*connection_, report);
  if (!said_) said_.emplace();
  said_->boot_id = report.boot_id;
  said_->revision = report.revision;
  said_->acted = report.acted;
  if (!report.node) return;
  said_->node = report.node;
  said_->not_ready_for = report.not_ready_for;
}

// The core has decided what is not durable, and must not speak of it. So this only adds to what was
// said before; then come heartbeats.
void Loop::say_in_error(const Error& why) {
  if (!connection_ || !said_ || !said_->node) return;
  const Time now = shell::now();
  if (in_error_said_ && now < *in_error_said_ + kInErrorEvery) return;
  if (!in_error_said_) ++said_->revision;
  model::Report report = *said_;
  if (in_error_said_) {
    report.node.reset();
    report.not_ready_for.clear();
  } else {
    report.node->state = model::NodeState::Error;
    report.node->remarks.push_back("in error: its store cannot be written: " + why.message);
  }
  in_error_said_ = now;
  outlets_.report(*connection_, report);
}

// What the core has to say builds on what was not said: only everything is sure to fit. What was
// commanded meanwhile was meant for a node in error, say, to stop what could not stay there; it is
// told anew by who hears that the node is well.
void Loop::say_all_anew() {
  in_error_said_.reset();
  std::vector<agent::Event> batch = inbox_.take(shell::now());
  std::erase_if(batch, [](const agent::Event& event) {
    return std::holds_alternative<agent::CommandReceived>(event);
  });
  if (connection_) batch.insert(batch.begin(), agent::Connected{*connection_});
  turn(batch);
}

Loop::Commit Loop::make_durable(const std::vector<agent::Write>& writes) {
  if (writes.empty()) return Commit::Done;
  const std::vector<store::Change> changes = to_changes(writes);
  const Time begun = shell::now();
  bool was_told = false;
  while (true) {
    const Result<void> committed = store_.commit(changes);
    if (committed) break;
    if (!std::exchange(was_told, true)) {
      shell::log(LogLevel::Error, "the store cannot take what was decided; nothing new is begun",
                 {{"error", committed.error().message}});
    }
    if (shell::now() - begun >= kInErrorAfter) say_in_error(committed.error());
    if (inbox_.wait_for_close(shell::now() + kCommitRetry)) return Commit::Ended;
    if (watchdog_) shell::notify_alive();
  }
  if (was_told) shell::log(LogLevel::Info, "the store takes changes again");
  return Commit::Done;
}

void Loop::note_connections(const std::vector<agent::Event>& batch) {
  for (const agent::Event& event : batch) {
    if (const auto* connected = std::get_if<agent::Connected>(&event)) {
      if (connection_ != connected->connection) said_.reset();
      connection_ = connected->connection;
    } else if (const auto* lost = std::get_if<agent::Disconnected>(&event)) {
      if (connection_ == lost->connection) connection_.reset();
    }
  }
}

}  // namespace berth::agentd
