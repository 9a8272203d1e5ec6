#include "control/cluster/observed_node.h"

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

}  // namespace berth::control
