#pragma once

#include <chrono>

namespace berth {

using namespace std::chrono_literals;

using Duration = std::chrono::microseconds;

// A clock that nobody can read: points in time come into the cores as arguments, from the
// machine's monotonic clock in production and from virtual time in simulation. Zero is arbitrary.
struct MonotonicClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicClock, Duration>;
  static constexpr bool is_steady = true;
};

using Time = MonotonicClock::time_point;

constexpr Time kNever = Time::max();

}  // namespace berth
