#include "bench/bench.h"

#include <algorithm>
#include <chrono>

namespace berth::bench {

const std::vector<Benchmark>& all_benchmarks() {
  static const std::vector<Benchmark> kAll{
      {"placement", "How long does the reference engine look for a place?", placement_per_instance},
      {"status", "Does one status cost the same in a big cluster?", step_per_status},
      {"simulation", "How fast does virtual time pass for a unit of 16 nodes?", simulated_hours},
      {"unit", "What do the real programs take, over real gRPC and SQLite?", real_unit},
  };
  return kAll;
}

double seconds_per(std::size_t calls, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  constexpr int kTimings = 3;
  double best = 1e9;
  for (int i = 0; i < kTimings; ++i) {
    const auto start = Clock::now();
    work();
    const std::chrono::duration<double> took = Clock::now() - start;
    best = std::min(best, took.count() / static_cast<double>(calls));
  }
  return best;
}

}  // namespace berth::bench
