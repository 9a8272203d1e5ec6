#pragma once

#include <array>
#include <cstdint>

namespace berth {

// xoshiro256** seeded through splitmix64. Ours, because the distributions of the standard library
// differ between libraries and a seed must mean the same run everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t next();

  // Uniform in [0, bound). `bound` must be positive.
  std::uint64_t below(std::uint64_t bound);

  // Uniform in [low, high], both included.
  std::int64_t between(std::int64_t low, std::int64_t high);

  // True with probability `parts` in a million.
  bool chance_ppm(std::uint64_t parts) { return below(1'000'000) < parts; }

  // An independent stream, so that drawing more in one place does not change another.
  Random fork() { return Random(next()); }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace berth
