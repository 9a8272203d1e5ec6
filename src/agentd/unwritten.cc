#include "agentd/unwritten.h"

#include <set>
#include <utility>
#include <variant>

#include "agentd/persistence.h"

namespace berth::agentd {
namespace {

std::set<model::InstanceKey> still_wanted(const std::vector<agent::Write>& writes) {
  std::set<model::InstanceKey> keys;
  for (const agent::Write& write : writes) {
    const auto* wanted = std::get_if<agent::WriteWanted>(&write);
    if (wanted != nullptr && wanted->record) keys.insert(wanted->key);
  }
  return keys;
}

}  // namespace

void Unwritten::add(const std::vector<agent::Write>& writes) {
  for (store::Change& change : to_changes(writes)) {
    std::string key = change.key;
    changes_.insert_or_assign(std::move(key), std::move(change));
  }
}

std::vector<store::Change> Unwritten::changes() const {
  std::vector<store::Change> changes;
  changes.reserve(changes_.size());
  for (const auto& [key, change] : changes_) changes.push_back(change);
  return changes;
}

Permitted permitted_without_store(const agent::Effects& effects, const std::string& problem) {
  const std::set<model::InstanceKey> changed = still_wanted(effects.writes);
  Permitted permitted;
  for (const agent::Action& action : effects.actions) {
    const auto* start = std::get_if<agent::Start>(&action);
    const auto* stop = std::get_if<agent::Stop>(&action);
    if (start != nullptr) {
      const model::Problem why{"StoreNotWritable", "its node cannot write: " + problem,
                               model::Hindrance::StoreNotWritable};
      permitted.refused.push_back(agent::StartFailed{start->spec.key, start->run, why});
    } else if (stop != nullptr && changed.contains(stop->key)) {
      permitted.refused.push_back(agent::StopWithheld{stop->key, stop->run});
    } else {
      permitted.actions.push_back(action);
    }
  }
  return permitted;
}

}  // namespace berth::agentd
