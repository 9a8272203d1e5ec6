#pragma once

#include <chrono>

#include "base/time.h"

namespace berth::runtime {

// The machine's monotonic clock.
inline Time now() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return Time(std::chrono::duration_cast<Duration>(since_start));
}

}  // namespace berth::runtime
