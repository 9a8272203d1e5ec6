#include "model/node.h"

#include <algorithm>

namespace berth::model {
namespace {

// The narrower the match, the later it is applied, so that it wins.
enum class Scope { Fallback, SystemWide, Type, Node };

bool applies(const NodeConfig& config, Scope scope, const NodeId& node, const std::string& type) {
  switch (scope) {
    case Scope::Fallback: return is_fallback(config);
    case Scope::SystemWide: return !config.node && !config.type && !is_fallback(config);
    case Scope::Type: return config.type && *config.type == type;
    case Scope::Node: return config.node && *config.node == node;
  }
  CHECK(false, "unknown scope");
}

template <class T>
void take(T& setting, const std::optional<T>& configured) {
  if (configured) setting = *configured;
}

}  // namespace

const Runtime* find_runtime(const NodeInfo& node, const RuntimeId& id) {
  const auto found = std::ranges::find(node.runtimes, id, &Runtime::id);
  return found == node.runtimes.end() ? nullptr : &*found;
}

const Runtime* primary_runtime(const NodeInfo& node, const std::set<RuntimeId>& have_been_ready) {
  if (node.runtimes.empty()) return nullptr;
  const auto marked = std::ranges::find(node.runtimes, true, &Runtime::primary);
  if (marked != node.runtimes.end()) return &*marked;
  const Runtime* container = nullptr;
  for (const Runtime& runtime : node.runtimes) {
    if (kind_of(runtime.type) != RuntimeKind::Container) continue;
    if (have_been_ready.contains(runtime.id)) return &runtime;
    if (container == nullptr) container = &runtime;
  }
  return container != nullptr ? container : &node.runtimes.front();
}

bool is_fallback(const NodeConfig& config) {
  return config.name == "default" && !config.node && !config.type;
}

NodeConfig shipped_config() {
  NodeConfig config;
  config.name = "default";
  config.thresholds = Thresholds{.cpu = ThresholdRule{}, .ram = ThresholdRule{}};
  return config;
}

NodeSettings settings_for(const NodeId& node, const std::string& type,
                          const std::vector<const NodeConfig*>& configs) {
  NodeSettings settings;
  for (const Scope scope : {Scope::Fallback, Scope::SystemWide, Scope::Type, Scope::Node}) {
    for (const NodeConfig* config : configs) {
      if (!applies(*config, scope, node, type)) continue;
      take(settings.priority, config->priority);
      take(settings.labels, config->labels);
      take(settings.ratios, config->ratios);
      take(settings.default_request, config->default_request);
      take(settings.thresholds, config->thresholds);
      if (config->evict_after) settings.evict_after = config->evict_after;
    }
  }
  return settings;
}

}  // namespace berth::model
