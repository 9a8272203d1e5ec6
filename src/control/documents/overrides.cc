#include "control/documents/overrides.h"

#include <algorithm>

namespace berth::control {
namespace {

void store(Context& context, const std::string& name, std::optional<model::EnvOverride> list) {
  context.lifetime.forget_override(name);
  if (!list) return context.state.erase<model::EnvOverride>(name);
  const bool expires = next_expiry(*list, context.now) != kNever;
  list->counted_from = expires ? std::optional(context.date_of(context.now)) : std::nullopt;
  context.state.put(*list);
  if (expires) context.lifetime.follow_override(context, name);
}

}  // namespace

std::map<std::string, std::string> variables_of(const Durable& durable,
                                                const model::InstanceKey& key) {
  std::vector<const model::EnvOverride*> lists;
  for (const auto& [name, list] : durable.env_overrides) lists.push_back(&list);
  return model::variables_for(key, lists);
}

std::set<model::InstanceKey> overridden_by(const Durable& durable, const model::EnvOverride& list) {
  std::set<model::InstanceKey> keys;
  for (const auto& [key, record] : durable.instances) {
    if (record.place && !model::variables_for(key, {&list}).empty()) keys.insert(key);
  }
  return keys;
}

std::set<model::InstanceKey> replace_override(Context& context, const std::string& name,
                                              std::optional<model::EnvOverride> list) {
  const Durable& durable = context.state.durable();
  std::map<model::InstanceKey, std::map<std::string, std::string>> before;
  for (const auto& [key, record] : durable.instances) {
    if (record.place) before.emplace(key, variables_of(durable, key));
  }
  store(context, name, std::move(list));
  std::set<model::InstanceKey> changed;
  for (const auto& [key, variables] : before) {
    if (variables_of(durable, key) == variables) continue;
    context.mark(*context.state.find<model::InstanceRecord>(key));
    changed.insert(key);
  }
  return changed;
}

Time next_expiry(const model::EnvOverride& override, Time written) {
  Time next = kNever;
  for (const model::EnvEntry& entry : override.entries) {
    for (const model::EnvVariable& variable : entry.variables) {
      if (variable.expires) next = std::min(next, written + *variable.expires);
    }
  }
  return next;
}

std::optional<model::EnvOverride> what_is_left(const model::EnvOverride& override,
                                               Duration elapsed) {
  model::EnvOverride left = override;
  for (model::EnvEntry& entry : left.entries) {
    std::erase_if(entry.variables, [&](const model::EnvVariable& variable) {
      return variable.expires && *variable.expires <= elapsed;
    });
    for (model::EnvVariable& variable : entry.variables) {
      if (variable.expires) *variable.expires -= elapsed;
    }
  }
  std::erase_if(left.entries, [](const model::EnvEntry& entry) { return entry.variables.empty(); });
  if (left.entries.empty()) return std::nullopt;
  return left;
}

}  // namespace berth::control
