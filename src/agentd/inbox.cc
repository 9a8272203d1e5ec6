#include "agentd/inbox.h"

#include <utility>
#include <variant>

#include "base/check.h"

namespace berth::agentd {

void Inbox::tell(agent::Event event) {
  if (std::holds_alternative<agent::StateSaved>(event)) ++states_;
  if (box_.post(std::move(event))) return;
  CHECK(box_.closed(), "more facts wait than this machine can have");
}

bool Inbox::tell_command(model::Command command) {
  if (commands_.fetch_add(1) < kCommandsMax &&
      box_.post(agent::CommandReceived{std::move(command)})) {
    return true;
  }
  --commands_;
  return false;
}

bool Inbox::tell_pool_command(model::PoolCommand command) {
  if (pool_commands_.fetch_add(1) < kPoolCommandsMax &&
      box_.post(agent::PoolCommandReceived{std::move(command)})) {
    return true;
  }
  --pool_commands_;
  return false;
}

void Inbox::tell_usage(agent::Measured measured) {
  if (!usage_waits_.exchange(true)) tell(std::move(measured));
}

std::vector<agent::Event> Inbox::take(std::optional<Time> until) {
  std::vector<agent::Event> events = box_.take(until);
  for (const agent::Event& event : events) {
    if (std::holds_alternative<agent::CommandReceived>(event)) --commands_;
    if (std::holds_alternative<agent::PoolCommandReceived>(event)) --pool_commands_;
    if (std::holds_alternative<agent::Measured>(event)) usage_waits_ = false;
    if (std::holds_alternative<agent::StateSaved>(event)) --states_;
  }
  return events;
}

}  // namespace berth::agentd
