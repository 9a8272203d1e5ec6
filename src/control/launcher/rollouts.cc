#include "control/launcher/rollouts.h"

#include <fmt/format.h>

namespace berth::control {
namespace {

void mark_all(Context& context, const RequestKey& key) {
  for (const model::InstanceRecord* record : records_of(context.state.durable(), key)) {
    context.mark(*record);
  }
}

bool has_turn(const Context& context, const RequestKey& key, const model::InstanceKey& instance) {
  const auto rollout = context.rollouts.find(key);
  return rollout != context.rollouts.end() && rollout->second.turns.contains(instance);
}

// The document before the edit is not kept, so nothing can go back to it.
std::string what_follows(const model::RolloutRecord& rollout) {
  if (rollout.edited) return "those that have not been restarted keep running what they have";
  return fmt::format("{} goes back to version {}",
                     rollout.allow_partial ? "it" : "the whole request", rollout.from);
}

}  // namespace

std::vector<const model::InstanceRecord*> records_of(const Durable& durable,
                                                     const RequestKey& key) {
  std::vector<const model::InstanceRecord*> records;
  auto it = durable.instances.lower_bound({key.first, key.second, 0});
  for (; it != durable.instances.end(); ++it) {
    if (it->first.item != key.first || it->first.subject != key.second) break;
    records.push_back(&it->second);
  }
  return records;
}

std::map<RequestKey, std::string> asked_versions(const Durable& durable) {
  std::map<RequestKey, std::string> versions;
  for (const auto& [name, deployment] : durable.deployments) {
    for (const model::RunRequest& run : deployment.run) {
      const auto item = durable.items.lower_bound({run.item, run.version});
      CHECK(item != durable.items.end(), "validated documents name known items");
      versions.emplace(RequestKey{run.item, run.subject}, item->first.version);
    }
  }
  return versions;
}

bool has_gone_back(const model::RolloutRecord& rollout, const model::InstanceKey& key) {
  return is_over(rollout) || rollout.kept_back.contains(key.index);
}

bool has_failed(const model::RolloutRecord& rollout) {
  return rollout.failed && (rollout.edited || rollout.from != rollout.to);
}

bool is_over(const model::RolloutRecord& rollout) {
  return rollout.failed && !rollout.allow_partial;
}

const model::Problem* rolled_back_because(const Context& context, const model::InstanceKey& key) {
  const auto& rollouts = context.state.durable().rollouts;
  if (rollouts.empty()) return nullptr;
  const auto rollout = rollouts.find({key.item, key.subject});
  if (rollout == rollouts.end() || !has_failed(rollout->second)) return nullptr;
  if (!has_gone_back(rollout->second, key)) return nullptr;
  if (rollout->second.edited && rollout->second.proven.contains(key.index)) return nullptr;
  return &*rollout->second.failed;
}

bool is_at_rest(const Context& context, const RequestKey& key) {
  const auto& records = context.state.durable().rollouts;
  const auto record = records.find(key);
  if (record == records.end() || is_over(record->second)) return true;
  const auto rollout = context.rollouts.find(key);
  return rollout != context.rollouts.end() && rollout->second.at_rest;
}

bool is_on_trial(const Context& context, const model::InstanceRecord& record) {
  const RequestKey key{record.key.item, record.key.subject};
  const auto& records = context.state.durable().rollouts;
  const auto rollout = records.find(key);
  if (rollout == records.end() || is_over(rollout->second)) return false;
  if (record.version != rollout->second.to) return false;
  return !rollout->second.proven.contains(record.key.index);
}

bool awaits_restart(const Context& context, const model::InstanceRecord& record) {
  const RequestKey key{record.key.item, record.key.subject};
  const auto& records = context.state.durable().rollouts;
  if (records.empty()) return false;
  const auto rollout = records.find(key);
  if (rollout == records.end() || !rollout->second.edited) return false;
  if (record.version != rollout->second.to) return false;
  if (rollout->second.proven.contains(record.key.index)) return false;
  const auto under_way = context.rollouts.find(key);
  return under_way == context.rollouts.end() || !under_way->second.restarted.contains(record.key);
}

std::set<RequestKey> requests_running(const Durable& durable, const model::ItemKey& item) {
  std::set<RequestKey> keys;
  auto it = durable.instances.lower_bound({item.item, model::SubjectId{}, 0});
  for (; it != durable.instances.end() && it->first.item == item.item; ++it) {
    const model::InstanceRecord& record = it->second;
    const bool runs = record.place && !record.preinstalled && record.version == item.version;
    if (runs) keys.emplace(record.key.item, record.key.subject);
  }
  return keys;
}

bool begin_restarts(Context& context, const RequestKey& key, const std::string& version) {
  const auto& rollouts = context.state.durable().rollouts;
  const auto known = rollouts.find(key);
  if (known != rollouts.end() && !known->second.edited) {
    model::RolloutRecord rollout = known->second;
    if (rollout.to == version) rollout.proven.clear();
    context.state.put(rollout);
    return false;
  }
  context.rollouts.erase(key);
  context.state.put(model::RolloutRecord{.item = key.first,
                                         .subject = key.second,
                                         .from = version,
                                         .to = version,
                                         .allow_partial = false,
                                         .failed = {},
                                         .kept_back = {},
                                         .proven = {},
                                         .edited = true});
  context.note(NoteKind::RolloutBegun, "request/" + key.first.value() + "/" + key.second.value(),
               fmt::format("version {} as edited", version));
  return true;
}

placement::Versions versions_of(const Context& context, const model::RolloutRecord& rollout) {
  if (is_over(rollout)) return {.whole = rollout.from, .of = {}};
  const Durable& durable = context.state.durable();
  const RequestKey key{rollout.item, rollout.subject};
  placement::Versions versions{.whole = rollout.to, .of = {}};
  for (const std::uint32_t index : rollout.kept_back) versions.of.emplace(index, rollout.from);
  for (const model::InstanceRecord* record : records_of(durable, key)) {
    const bool waits_for_its_turn = record->place && !record->preinstalled &&
                                    durable.items.contains({rollout.item, record->version}) &&
                                    !has_turn(context, key, record->key);
    if (waits_for_its_turn) versions.of.emplace(record->key.index, record->version);
  }
  return versions;
}

void look_at_rollout_again(Context& context, const model::InstanceKey& instance) {
  const auto rollout = context.rollouts.find({instance.item, instance.subject});
  if (rollout != context.rollouts.end()) rollout->second.look_again = true;
}

void give_up(Context& context, const RequestKey& key, const model::InstanceKey& instance,
             const model::Problem& problem) {
  model::RolloutRecord rollout = context.state.durable().rollouts.at(key);
  rollout.failed = {
      problem.reason,
      fmt::format("{} did not come up in version {}{}: {}", model::to_string(instance), rollout.to,
                  rollout.edited ? " as edited" : "",
                  problem.message.empty() ? problem.reason : problem.message)};
  if (rollout.allow_partial) rollout.kept_back.insert(instance.index);
  context.state.put(rollout);
  Rollout& under_way = context.rollouts[key];
  under_way.trials.erase(instance);
  under_way.turns.erase(instance);
  under_way.look_again = true;
  if (is_over(rollout)) context.rollouts.erase(key);
  context.note(NoteKind::RolloutFailed, instance,
               fmt::format("{}; {}", rollout.failed->message, what_follows(rollout)));
  context.dirty.plan = true;
  mark_all(context, key);
}

void try_again(Context& context, const RequestKey& key) {
  const auto& rollouts = context.state.durable().rollouts;
  const auto rollout = rollouts.find(key);
  if (rollout == rollouts.end() || !rollout->second.failed) return;
  context.state.erase_rollout(key);
  context.rollouts.erase(key);
  context.dirty.plan = true;
  mark_all(context, key);
}

}  // namespace berth::control
