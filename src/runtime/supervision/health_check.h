#pragma once

#include <functional>
#include <string>

#include "base/time.h"
#include "model/ids.h"
#include "model/item.h"
#include "runtime/runtime.h"

namespace berth::runtime {

struct HealthAnswer {
  bool healthy = false;
  std::string message;  // why not
};

struct HealthTarget {
  model::InstanceKey key;
  std::string address = "127.0.0.1";      // where its ports are: of the machine, or its own
  std::function<int()> open_socket = {};  // where that address can be reached; none: from here
};

// Does one check, and waits for its outcome until the deadline; a late answer is a failure. Blocks:
// for a worker thread. Safe to call from several threads.
HealthAnswer check_health(const model::HealthCheck& check, const HealthTarget& target,
                          Runtime& runtime, Duration deadline = 5s);

}  // namespace berth::runtime
