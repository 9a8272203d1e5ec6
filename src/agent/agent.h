#pragma once

#include <span>

#include "agent/events.h"
#include "base/time.h"

namespace berth::agent {

// The deterministic core of the agent: facts and time in; writes, actions for the runtimes and
// reports out. Its promises: what it was told to run is kept running with no control plane in
// reach; reconnecting, or restarting the agent, restarts nothing that is healthy; late, repeated
// and reordered messages do no harm. Not thread-safe, does no I/O, reads no clock.
class Agent {
 public:
  Agent(Config config, Restored restored);

  // Records the facts, decides, returns what must happen. The shell must make `writes` durable
  // before it does anything else.
  Effects step(Time now, std::span<const Event> batch);
};

}  // namespace berth::agent
