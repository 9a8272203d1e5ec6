#pragma once

#include <map>
#include <span>

#include "base/time.h"
#include "control/config.h"
#include "control/durable.h"
#include "control/events.h"

namespace berth::control {

// The deterministic core of the control plane: owns the cluster's state. Not thread-safe, does no
// I/O, reads no clock.
class Controller {
 public:
  Controller(Config config, Durable restored);

  // Records the facts, runs the passes in their fixed order, returns what must happen. The shell
  // must make `writes` durable before it does anything else.
  Effects step(Time now, std::span<const Event> batch);

  const Durable& durable() const;

  // The status of every instance that is asked for, ordered by key.
  std::map<model::InstanceKey, model::InstanceStatus> statuses() const;
};

}  // namespace berth::control
