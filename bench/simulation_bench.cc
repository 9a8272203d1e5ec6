#include <fmt/format.h>

#include "bench/bench.h"
#include "sim/run.h"

namespace berth::bench {

std::vector<Row> simulated_hours() {
  constexpr Duration kVirtual = 3600s;
  sim::Outcome outcome;
  const double seconds = seconds_per(1, [&] { outcome = sim::simulate_calm_unit(kVirtual); });
  const double hours = std::chrono::duration<double>(outcome.virtual_time).count() / 3600.0;
  return {{"16 nodes", hours / seconds, "virtual hours per second",
           fmt::format("{:.2f} h in {:.2f} s", hours, seconds)}};
}

}  // namespace berth::bench
