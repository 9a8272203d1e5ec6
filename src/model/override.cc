#include "model/override.h"

namespace berth::model {
namespace {

bool fits(const EnvEntry& entry, const InstanceKey& key) {
  return (!entry.item || *entry.item == key.item) &&
         (!entry.subject || *entry.subject == key.subject) &&
         (!entry.index || *entry.index == key.index);
}

}  // namespace

std::map<std::string, std::string> variables_for(const InstanceKey& key,
                                                 const std::vector<const EnvOverride*>& lists) {
  std::map<std::string, std::string> variables;
  for (const EnvOverride* list : lists) {
    for (const EnvEntry& entry : list->entries) {
      if (!fits(entry, key)) continue;
      for (const EnvVariable& variable : entry.variables) {
        variables.insert_or_assign(variable.name, variable.value);
      }
    }
  }
  return variables;
}

}  // namespace berth::model
