#include "sim/checkers/commanded.h"

#include <algorithm>

namespace berth::sim {

void note(const model::Command& command, Specs& specs) {
  if (!command.base) {
    std::erase_if(specs, [&](const auto& entry) {
      return std::ranges::find(command.keep, entry.first) == command.keep.end();
    });
  }
  for (const model::InstanceKey& key : command.stop) specs.erase(key);
  for (const model::InstanceSpec& spec : command.run) specs.insert_or_assign(spec.key, spec);
}

}  // namespace berth::sim
