#include "agent/erasures.h"

namespace berth::agent {

Erasures::Erasures(const std::set<model::InstanceKey>& restored) : pending_(restored) {}

std::set<model::InstanceKey> Erasures::take(const Context& context, const model::Command& command) {
  std::set<model::InstanceKey> changed;
  for (const model::InstanceKey& key : command.erase) {
    if (!pending_.insert(key).second) continue;
    context.effects.writes.push_back(WriteErasing{key, true});
    changed.insert(key);
  }
  for (const model::InstanceSpec& spec : command.run) {
    if (pending_.erase(spec.key) == 0) continue;
    context.effects.writes.push_back(WriteErasing{spec.key, false});
    changed.insert(spec.key);
  }
  return changed;
}

std::set<model::InstanceKey> Erasures::forget_all_but(const Context& context,
                                                      const model::Command& command) {
  const std::set<model::InstanceKey> before = pending_;
  const std::set<model::InstanceKey> meant(command.erase.begin(), command.erase.end());
  std::erase_if(pending_, [&](const model::InstanceKey& key) {
    if (meant.contains(key)) return false;
    context.effects.writes.push_back(WriteErasing{key, false});
    return true;
  });
  return before;
}

void Erasures::go_on(const Context& context, const model::InstanceKey& key, bool is_running) {
  if (!pending_.contains(key) || failed_.contains(key) || is_running) return;
  if (busy_.insert(key).second) context.act(EraseData{key});
}

void Erasures::answered(const Context& context, const DataErased& answer) {
  if (busy_.erase(answer.key) == 0) return;
  if (!answer.problem.empty()) {
    failed_.insert(answer.key);
    alarms_.set(answer.key, context.now + context.config.action_timeout);
    return context.note(answer.key, "its data cannot be erased: " + answer.problem);
  }
  if (pending_.erase(answer.key) == 0) return;
  context.effects.writes.push_back(WriteErasing{answer.key, false});
  context.note(answer.key, "its data are erased");
}

std::vector<model::InstanceKey> Erasures::take_due(Time now) {
  const auto due = alarms_.take_due(now);
  for (const model::InstanceKey& key : due) failed_.erase(key);
  return due;
}

model::ReportedStatus Erasures::status_of(const model::InstanceKey& key) {
  model::ReportedStatus status;
  status.key = key;
  status.state = model::InstanceState::Inactive;
  status.stopping = true;
  return status;
}

}  // namespace berth::agent
