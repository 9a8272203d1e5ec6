#include <fmt/format.h>

#include <functional>

#include "bench/bench.h"
#include "bench/unit_in_process.h"

namespace berth::bench {
namespace {

using Spent = UnitInProcess::Spent;

// The parts of the best timing so far.
class Best {
 public:
  explicit Best(double (*measure)(const Spent&)) : measure_(measure) {}

  double add(const Spent& spent) {
    if (!best_ || measure_(spent) < measure_(*best_)) best_ = spent;
    return measure_(spent);
  }
  const Spent& spent() const { return *best_; }

 private:
  double (*measure_)(const Spent&);
  std::optional<Spent> best_;
};

Spent to_deploy(std::uint32_t instances) {
  constexpr std::uint32_t kNodes = 64;
  Best best([](const Spent& spent) { return spent.total(); });
  best_of([&] {
    UnitInProcess unit(kNodes);
    unit.reset_spent();
    unit.deploy(instances);
    return best.add(unit.spent());
  });
  return best.spent();
}

Row row_of_reports(const std::string& what, UnitInProcess& unit,
                   const std::function<void()>& change) {
  const model::NodeId node = unit.controller().nodes().begin()->first;
  Best best([](const Spent& spent) { return spent.deciding; });
  best_of([&] {
    change();
    unit.reset_spent();
    unit.report_fully(node);
    return best.add(unit.spent());
  });
  return {
      what, best.spent().deciding * 1e3, "ms in the loop",
      fmt::format("and {:.2f} ms to read it, in a thread of the link", best.spent().reading * 1e3)};
}

}  // namespace

std::vector<Row> launch_per_instance() {
  std::vector<Row> rows;
  double small = 0;
  for (const std::uint32_t instances : {256, 5'000, 50'000}) {
    const Spent spent = to_deploy(instances);
    const double scale = 1e6 / instances;
    const double each = spent.total() * scale;
    if (rows.empty()) small = each;
    rows.push_back({fmt::format("{} instances", instances), each, "us per instance",
                    fmt::format("{:.2f} x the smallest", each / small)});
    rows.push_back({"", spent.deciding * scale, "us deciding", ""});
    rows.push_back({"", spent.storing * scale, "us storing", ""});
    rows.push_back({"", spent.sending * scale, "us sending", ""});
    rows.push_back({"", spent.reading * scale, "us reading reports", ""});
  }
  return rows;
}

std::vector<Row> full_report() {
  constexpr std::uint32_t kInstances = 5'000;
  UnitInProcess unit(1);
  unit.deploy(kInstances);
  const model::NodeId node = unit.controller().nodes().begin()->first;
  return {row_of_reports("nothing is new", unit, [] {}),
          row_of_reports("new measurements", unit, [&] { unit.use_more(node); }),
          row_of_reports("new connection", unit, [&] { unit.connect(node); })};
}

}  // namespace berth::bench
