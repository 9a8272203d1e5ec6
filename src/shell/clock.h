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

// The date when that clock was zero, since 1970, by the clocks as they are now.
inline Duration date_of_zero() {
  const auto date = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<Duration>(date) - now().time_since_epoch();
}

}  // namespace berth::shell
