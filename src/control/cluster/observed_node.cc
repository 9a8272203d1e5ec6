#include "control/cluster/observed_node.h"

#include <algorithm>

#include "base/check.h"

namespace berth::control {

std::string_view to_string(Liveness liveness) {
  switch (liveness) {
    case Liveness::Unknown: return "unknown";
    case Liveness::Reachable: return "reachable";
    case Liveness::Unreachable: return "unreachable";
    case Liveness::Lost: return "lost";
  }
  CHECK(false, "unknown liveness");
}

bool is_untold(const ObservedNode& node, const model::RuntimeId& runtime) {
  return std::ranges::find(node.untold_runtimes, runtime) != node.untold_runtimes.end();
}

model::Usage system_usage_of(const ObservedNode& node) {
  if (!node.usage) return {};
  const model::Usage rest = *node.usage - node.instance_usage - node.pool_usage;
  return {std::max(rest.cpu, Dmips{}), std::max(rest.ram, Bytes{})};
}

}  // namespace berth::control
