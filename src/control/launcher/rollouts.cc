#include "control/launcher/rollouts.h"

#include <fmt/format.h>

#include "control/launcher/handover.h"

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

// Whether the instance is only started anew because of an edit: it has nothing to go back to,
// because the document before is not kept.
bool is_only_restarted(const model::RolloutRecord& rollout, const model::InstanceKey& key) {
  return rollout.edited || has_gone_back(rollout, key);
}

std::string what_follows(const model::RolloutRecord& rollout) {
  return fmt::format("{} goes back to version {}",
                     rollout.allow_partial ? "it" : "the whole request", rollout.from);
}

constexpr const char* kOthersStay =
    "those that have not been restarted keep running what they have";

// Those that had their turn do not wait for it any more, however it went.
void forget_restarted(const Context& context, model::RolloutRecord& rollout,
                      const model::InstanceKey& culprit) {
  rollout.outdated.erase(culprit.index);
  const auto under_way = context.rollouts.find({rollout.item, rollout.subject});
  if (under_way == context.rollouts.end()) return;
  for (const model::InstanceKey& key : under_way->second.restarted) {
    rollout.outdated.erase(key.index);
  }
}

std::set<std::uint32_t> indices_running(const Durable& durable, const RequestKey& key,
                                        const std::string& version) {
  std::set<std::uint32_t> indices;
  for (const model::InstanceRecord* record : records_of(durable, key)) {
    const bool runs = record->place && !record->preinstalled && record->version == version;
    if (runs) indices.insert(record->key.index);
  }
  return indices;
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

std::string name_of(const RequestKey& key) {
  return "request/" + key.first.value() + "/" + key.second.value();
}

std::string in_words(const model::RolloutRecord& rollout) {
  if (rollout.edited) return fmt::format("version {} as edited", rollout.to);
  return fmt::format("version {} to {}", rollout.from, rollout.to);
}

bool is_under_way(const model::RolloutRecord& rollout) {
  if (!is_over(rollout)) return true;
  return !rollout.edited && !rollout.halted && !rollout.outdated.empty();
}

const std::string& goal_of(const model::RolloutRecord& rollout, const model::InstanceKey& key) {
  return has_gone_back(rollout, key) ? rollout.from : rollout.to;
}

std::optional<model::Problem> why_it_is_behind(const Context& context,
                                               const model::InstanceRecord& record) {
  const auto& rollouts = context.state.durable().rollouts;
  if (rollouts.empty()) return std::nullopt;
  const auto found = rollouts.find({record.key.item, record.key.subject});
  if (found == rollouts.end()) return std::nullopt;
  const model::RolloutRecord& rollout = found->second;
  const auto& halted = rollout.edited ? rollout.failed : rollout.halted;
  const bool is_outdated =
      rollout.outdated.contains(record.key.index) && run_as_told(context, record) == nullptr;
  if (halted && is_outdated) return model::Problem{"NotRestarted", halted->message};
  if (rollout.edited || !has_failed(rollout)) return std::nullopt;
  if (!has_gone_back(rollout, record.key)) return std::nullopt;
  return model::Problem{"RolledBack", rollout.failed->message};
}

bool is_at_rest(const Context& context, const RequestKey& key) {
  const auto& records = context.state.durable().rollouts;
  const auto record = records.find(key);
  if (record == records.end() || !is_under_way(record->second)) return true;
  const auto rollout = context.rollouts.find(key);
  return rollout != context.rollouts.end() && rollout->second.at_rest;
}

bool is_on_trial(const Context& context, const model::InstanceRecord& record) {
  const auto& records = context.state.durable().rollouts;
  const auto rollout = records.find({record.key.item, record.key.subject});
  if (rollout == records.end() || !is_under_way(rollout->second)) return false;
  if (record.version != goal_of(rollout->second, record.key)) return false;
  return has_gone_back(rollout->second, record.key)
             ? rollout->second.outdated.contains(record.key.index) && !rollout->second.halted
             : !rollout->second.proven.contains(record.key.index);
}

bool awaits_restart(const Context& context, const model::InstanceRecord& record) {
  const RequestKey key{record.key.item, record.key.subject};
  const auto& records = context.state.durable().rollouts;
  if (records.empty()) return false;
  const auto rollout = records.find(key);
  if (rollout == records.end() || !rollout->second.outdated.contains(record.key.index))
    return false;
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

void begin_restarts(Context& context, const RequestKey& key, const std::string& version) {
  const auto& rollouts = context.state.durable().rollouts;
  const auto known = rollouts.find(key);
  model::RolloutRecord rollout{.item = key.first,
                               .subject = key.second,
                               .from = version,
                               .to = version,
                               .allow_partial = false,
                               .failed = {},
                               .kept_back = {},
                               .edited = true};
  if (known != rollouts.end() && !known->second.edited) rollout = known->second;
  for (const std::uint32_t index : indices_running(context.state.durable(), key, version)) {
    rollout.outdated.insert(index);
    if (version == rollout.to) rollout.proven.erase(index);
  }
  rollout.halted.reset();
  context.state.put(rollout);
  context.rollouts.erase(key);  // what is on trial is something else now
  mark_all(context, key);
  context.note(NoteKind::RolloutBegun, name_of(key), fmt::format("version {} as edited", version));
}

void forget_outdated(Context& context, const model::InstanceKey& instance) {
  const auto& rollouts = context.state.durable().rollouts;
  const auto known = rollouts.find({instance.item, instance.subject});
  if (known == rollouts.end() || !known->second.outdated.contains(instance.index)) return;
  model::RolloutRecord rollout = known->second;
  rollout.outdated.erase(instance.index);
  context.state.put(rollout);
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
  const bool is_edit = is_only_restarted(rollout, instance);
  const std::string message =
      fmt::format("{} did not come up in version {}{}: {}", model::to_string(instance),
                  goal_of(rollout, instance), is_edit ? " as edited" : "",
                  problem.message.empty() ? problem.reason : problem.message);
  if (has_gone_back(rollout, instance)) {
    rollout.halted = {problem.reason, message};
  } else {
    rollout.failed = {problem.reason, message};
    if (rollout.allow_partial) rollout.kept_back.insert(instance.index);
  }
  forget_restarted(context, rollout, instance);
  context.state.put(rollout);
  Rollout& under_way = context.rollouts[key];
  under_way.trials.erase(instance);
  under_way.turns.erase(instance);
  if (is_over(rollout)) under_way = {};
  under_way.look_again = is_under_way(rollout);
  if (!is_under_way(rollout)) context.rollouts.erase(key);
  context.note(NoteKind::RolloutFailed, instance,
               fmt::format("{}; {}", message, is_edit ? kOthersStay : what_follows(rollout)));
  context.dirty.plan = true;
  mark_all(context, key);
}

void try_again(Context& context, const RequestKey& key) {
  const auto& rollouts = context.state.durable().rollouts;
  const auto known = rollouts.find(key);
  if (known == rollouts.end() || !known->second.failed) return;
  model::RolloutRecord rollout = known->second;
  rollout.allow_partial = context.partial_rollouts.contains(key);
  rollout.failed.reset();
  rollout.kept_back.clear();
  rollout.proven.clear();
  rollout.halted.reset();
  context.state.put(rollout);
  context.rollouts.erase(key);
  context.note(NoteKind::RolloutBegun, name_of(key), in_words(rollout));
  context.dirty.plan = true;
  mark_all(context, key);
}

}  // namespace berth::control
