#include <fmt/format.h>

#include "bench/bench.h"
#include "bench/unit_in_process.h"

namespace berth::bench {
namespace {

constexpr std::uint32_t kNodes = 10;
constexpr std::size_t kStatuses = 2'000;

// Statuses all over the unit; each one changes what its instance has shown.
class Statuses {
 public:
  explicit Statuses(UnitInProcess& unit) : unit_(unit) {
    for (const auto& [key, record] : unit.controller().durable().instances) keys_.push_back(key);
    failed_.resize(keys_.size());
  }

  void change(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = (next_++ * 7919) % keys_.size();
      failed_[at] = !failed_[at];
      unit_.report_state(keys_[at],
                         failed_[at] ? model::InstanceState::Failed : model::InstanceState::Active);
    }
  }

 private:
  UnitInProcess& unit_;
  std::vector<model::InstanceKey> keys_;
  std::vector<bool> failed_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<Row> step_per_status() {
  std::vector<Row> rows;
  double small = 0;
  for (const std::uint32_t instances : {256, 5'000, 50'000}) {
    UnitInProcess unit(kNodes);
    unit.deploy(instances);
    Statuses statuses(unit);
    const double seconds = best_of([&] {
      unit.reset_spent();
      statuses.change(kStatuses);
      return unit.spent().deciding / kStatuses;
    });
    if (rows.empty()) small = seconds;
    rows.push_back({fmt::format("{} instances", instances), seconds * 1e6, "us per status",
                    fmt::format("{:.2f} x the smallest", seconds / small)});
  }
  return rows;
}

}  // namespace berth::bench
