#include "agentd/loop.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "base/alarms.h"
#include "model/application.h"
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
    turn(to_tell_.empty() ? inbox_.take(next_turn()) : std::exchange(to_tell_, {}));
    if (watchdog_) shell::notify_alive();
  }
}

std::optional<Time> Loop::next_turn() const {
  std::optional<Time> next = wake_at_;
  if (!unwritten_.empty()) take_earlier(next, write_again_);
  if (watchdog_) take_earlier(next, shell::now() + *watchdog_);
  return next;
}

void Loop::turn(const std::vector<agent::Event>& batch) {
  note_connections(batch);
  const agent::Effects effects = core_.step(shell::now(), batch);
  wake_at_ = effects.wake_at;
  if (!inbox_.closed()) perform_at_once(effects);
  note_exits(batch);
  const bool is_durable = make_durable(effects.writes);
  log_notes(effects.notes);
  if (is_durable) {
    for (const agent::Exited& exited : std::exchange(exits_, {})) outlets_.forget(exited);
  }
  if (!inbox_.closed()) perform(effects);
}

void Loop::perform_at_once(const agent::Effects& effects) {
  for (const agent::Action& action : effects.at_once) outlets_.perform(action);
  for (const agent::PoolAction& action : effects.for_pools) outlets_.perform_for_pool(action);
}

// Nothing durable follows from the end of a pool instance.
void Loop::note_exits(const std::vector<agent::Event>& batch) {
  for (const agent::Event& event : batch) {
    const auto* exited = std::get_if<agent::Exited>(&event);
    if (exited == nullptr) continue;
    const agent::Exited end{.key = exited->key, .run = exited->run};
    model::is_pool_instance(end.key) ? outlets_.forget(end) : exits_.push_back(end);
  }
}

void Loop::perform(const agent::Effects& effects) {
  tell_of_store();
  if (unwritten_.empty()) {
    for (const agent::Action& action : effects.actions) outlets_.perform(action);
  } else {
    Permitted permitted = permitted_without_store(effects, store_problem_);
    for (const agent::Action& action : permitted.actions) outlets_.perform(action);
    std::ranges::move(permitted.refused, std::back_inserter(to_tell_));
  }
  if (!connection_) return;
  for (const model::Report& report : effects.reports) outlets_.report(*connection_, report);
}

void Loop::tell_of_store() {
  if (std::exchange(told_problem_, store_problem_) == store_problem_) return;
  to_tell_.push_back(agent::StoreObserved{store_problem_});
}

bool Loop::make_durable(const std::vector<agent::Write>& writes) {
  if (writes.empty() && unwritten_.empty()) return true;
  const bool waits = !unwritten_.empty() && shell::now() < write_again_;
  unwritten_.add(writes);
  return !waits && try_to_write();
}

bool Loop::try_to_write() {
  const Result<void> written = store_.commit(unwritten_.changes());
  if (!written) {
    if (store_problem_.empty()) {
      shell::log(LogLevel::Error, "the store cannot take what was decided; nothing new is begun",
                 {{"error", written.error().message}});
    }
    store_problem_ = written.error().message;
    write_again_ = shell::now() + kCommitRetry;
    return false;
  }
  unwritten_.clear();
  if (store_problem_.empty()) return true;
  store_problem_.clear();
  shell::log(LogLevel::Info, "the store takes changes again");
  return true;
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
