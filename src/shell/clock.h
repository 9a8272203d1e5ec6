#pragma once

#include <chrono>

#include "base/time.h"

// The machine's monotonic clock, as the cores count time.
namespace berth::shell {

inline Time to_time(std::chrono::steady_clock::time_point point) {
  return Time(std::chrono::duration_cast<Duration>(point.time_since_epoch()));
}

inline Time now() { return to_time(std::chrono::steady_clock::now()); }

inline std::chrono::steady_clock::time_point to_steady(Time time) {
  return std::chrono::steady_clock::time_point(time.time_since_epoch());
}

}  // namespace berth::shell
