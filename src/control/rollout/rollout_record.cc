#include "control/rollout/rollout_record.h"

#include <fmt/format.h>

#include "base/check.h"

namespace berth::control {

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

bool is_on_trial(const Durable& durable, const model::InstanceRecord& record) {
  const auto rollout = durable.rollouts.find({record.key.item, record.key.subject});
  if (rollout == durable.rollouts.end() || !is_under_way(rollout->second)) return false;
  if (record.version != goal_of(rollout->second, record.key)) return false;
  return has_gone_back(rollout->second, record.key)
             ? rollout->second.outdated.contains(record.key.index) && !rollout->second.halted
             : !rollout->second.proven.contains(record.key.index);
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

std::set<std::uint32_t> indices_running(const Durable& durable, const RequestKey& key,
                                        const std::string& version) {
  std::set<std::uint32_t> indices;
  for (const model::InstanceRecord* record : records_of(durable, key)) {
    const bool runs = record->place && !record->preinstalled && record->version == version;
    if (runs) indices.insert(record->key.index);
  }
  return indices;
}

}  // namespace berth::control
