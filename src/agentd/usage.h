#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>

#include "agent/events.h"
#include "base/time.h"
#include "runtime/runtime.h"

namespace berth::agentd {

// The average of what one thing used over the last while. Pure.
class Average {
 public:
  struct Rates {
    model::Usage usage;
    model::Traffic traffic;
  };

  Rates add(Time at, const runtime::Consumption& used, Duration window,
            std::int64_t dmips_per_core);

 private:
  struct Point {
    Time at;
    runtime::Consumption used;
  };
  std::deque<Point> points_;
};

// Turns what instances have consumed since their start into what they use per second. Pure.
class UsageMeter {
 public:
  UsageMeter(std::int64_t dmips_per_core, Duration window)
      : dmips_per_core_(dmips_per_core), window_(window) {}

  // What `rest` is: that of the agent, to be added to the instances, or that of the whole machine.
  // Its traffic is the node's either way: who shares the network of the machine is not told apart.
  enum class Rest { Agent, Machine };

  agent::Measured add(Time at, const std::map<model::InstanceKey, runtime::Consumption>& instances,
                      const runtime::Consumption& rest, Rest what);

 private:
  const std::int64_t dmips_per_core_;
  const Duration window_;
  std::map<model::InstanceKey, Average> instances_;
  Average rest_;
};

}  // namespace berth::agentd
