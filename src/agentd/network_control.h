#pragma once

#include "model/network.h"

namespace berth::agentd {

// Makes the networks of this machine what the agent was told. It is told on the agent's own thread,
// before the starts of the same step are begun, and so must not block: what takes long is done
// elsewhere, and a start that needs it waits for it, or fails.
class NetworkControl {
 public:
  virtual ~NetworkControl() = default;

  // The whole truth; may be the same as before.
  virtual void apply(const model::NodeNetwork& network) = 0;
};

}  // namespace berth::agentd
