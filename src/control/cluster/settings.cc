#include "control/cluster/settings.h"

#include <vector>

namespace berth::control {

model::NodeSettings settings_of(const Durable& durable, const model::NodeId& id,
                                const ObservedNode& node) {
  std::vector<const model::NodeConfig*> configs;
  for (const auto& [name, config] : durable.node_configs) {
    configs.push_back(&config);
  }
  return model::settings_for(id, node.info.type, configs);
}

}  // namespace berth::control
