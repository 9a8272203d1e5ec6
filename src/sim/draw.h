#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/time.h"

// Small draws that every part of the simulated world needs.
namespace berth::sim {

inline Duration draw(Random& random, Duration low, Duration high) {
  return Duration(random.between(low.count(), high.count()));
}

// Spread around a mean; what is periodic in reality never beats in step.
inline Duration draw_around(Random& random, Duration mean) {
  return draw(random, mean / 4, mean * 7 / 4);
}

inline bool draw_percent(Random& random, std::uint64_t percent) {
  return random.below(100) < percent;
}

template <class T>
const T& draw_one(Random& random, const std::vector<T>& from) {
  return from[random.below(from.size())];
}

}  // namespace berth::sim
