#include "bench/bench.h"

#include <algorithm>
#include <chrono>

namespace berth::bench {

const std::vector<Benchmark>& all_benchmarks() {
  static const std::vector<Benchmark> kAll{
      {"placement", "How long does a place take to find, by the index and by the scan?",
       placement_per_instance},
      {"launch", "What does an instance cost from the call until it is active?",
       launch_per_instance},
      {"report", "How long does a node that reports 5,000 instances hold up the others?",
       full_report},
      {"change", "Does a small change cost the same in a big cluster?", small_changes},
      {"status", "Does one status cost the same in a big cluster?", step_per_status},
      {"simulation", "How fast does virtual time pass for a unit of 16 nodes?", simulated_hours},
      {"unit", "What do the real programs take, over real gRPC and SQLite?", real_unit},
      {"readiness", "How soon does the control plane know that a runtime fails?",
       readiness_to_view},
      {"applies", "What does it take to ask for more of the real programs, as the record grows?",
       durable_applies},
      {"callers", "How many changes are made durable when many ask at once?", many_callers},
      {"sessions", "How soon is a session open, how many in a second, and what does one hold?",
       sessions},
  };
  return kAll;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double best_of(const std::function<double()>& timing) {
  constexpr int kTimings = 3;
  double best = timing();
  for (int i = 1; i < kTimings; ++i) best = std::min(best, timing());
  return best;
}

double seconds_per(std::size_t calls, const std::function<void()>& work) {
  return best_of([&] {
    const auto start = Clock::now();
    work();
    const std::chrono::duration<double> took = Clock::now() - start;
    return took.count() / static_cast<double>(calls);
  });
}

}  // namespace berth::bench
