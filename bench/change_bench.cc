#include <fmt/format.h>

#include "base/check.h"
#include "bench/bench.h"
#include "bench/clusters.h"
#include "bench/unit_in_process.h"

namespace berth::bench {
namespace {

constexpr std::uint32_t kNodesOfChanges = 64;

model::Deployment deployment_of(const std::string& name, model::RunRequest run) {
  return {.name = name, .run = {std::move(run)}};
}

model::RunRequest some_plain(const std::string& subject, std::uint32_t instances) {
  return {
      .item = model::ItemId{"plain"}, .subject = model::SubjectId{subject}, .instances = instances};
}

// The step that takes the call in, alone.
double seconds_to_decide(UnitInProcess& unit, std::vector<model::Document> documents) {
  unit.reset_spent();
  unit.apply(std::move(documents));
  return unit.spent().longest;
}

double one_more(UnitInProcess& unit) {
  constexpr int kTimes = 50;
  static int number = 0;
  return best_of([&] {
    double seconds = 0;
    for (int i = 0; i < kTimes; ++i) {
      const std::string name = fmt::format("more-{}", ++number);
      seconds += seconds_to_decide(unit, {deployment_of(name, some_plain(name, 1))});
    }
    return seconds / kTimes;
  });
}

// Of a run that is there: the answer tells of all of its instances, as an apply does.
double one_more_of_many(UnitInProcess& unit, std::uint32_t instances) {
  constexpr int kTimes = 3;
  return best_of([&] {
    double seconds = 0;
    for (int i = 0; i < kTimes; ++i) {
      seconds +=
          seconds_to_decide(unit, {deployment_of("all", some_plain("default", ++instances))});
    }
    return seconds / kTimes;
  });
}

// Each time there is a little more or less room.
double load_report(UnitInProcess& unit) {
  constexpr int kTimes = 2'000;
  const model::NodeId node = unit.controller().nodes().begin()->first;
  return best_of([&] {
    unit.reset_spent();
    for (int i = 0; i < kTimes; ++i) {
      unit.report_load(node, {Dmips{100 + i * 7919 % 100}, Bytes{1 << 20}});
    }
    return unit.spent().deciding / kTimes;
  });
}

// As many runs as instances, so that they have nothing in common.
std::vector<model::Document> nowhere(std::uint32_t count) {
  model::Deployment deployment{"nowhere", {}};
  for (std::uint32_t i = 0; i < count; ++i) {
    model::RunRequest run = some_plain(fmt::format("nobody-{}", i), 1);
    run.labels = {fmt::format("zone-{}", i)};
    deployment.run.push_back(std::move(run));
  }
  return {deployment};
}

std::vector<model::Document> too_large(std::uint32_t count) {
  model::Item item = plain_item();
  item.id = model::ItemId{"large"};
  item.request.ram = Bytes{1LL << 41};
  model::RunRequest run = some_plain("default", count);
  run.item = item.id;
  return {item, deployment_of("large", run)};
}

void add_more(std::vector<Row>& rows) {
  double small = 0;
  for (const std::uint32_t instances : {1'000, 100'000}) {
    UnitInProcess unit(kNodesOfChanges);
    unit.deploy(instances);
    const double each = one_more(unit);
    const double in_run = one_more_of_many(unit, instances);
    if (small == 0) small = each;
    rows.push_back({fmt::format("one more beside {}", instances), each * 1e6, "us to decide",
                    fmt::format("{:.2f} x the smallest", each / small)});
    rows.push_back({"  in the same run", in_run * 1e6, "us to decide",
                    fmt::format("{:.2f} x the smallest", in_run / small)});
  }
}

void add_loads(std::vector<Row>& rows) {
  UnitInProcess unit(kNodesOfChanges);
  unit.deploy(5'000);
  const double alone = load_report(unit);
  rows.push_back({"a load report, nobody waits", alone * 1e6, "us to decide", ""});
  CHECK(!unit.apply(too_large(1'000)), "they wait");
  const double large = load_report(unit);
  rows.push_back({"  1,000 wait for room", large * 1e6, "us to decide",
                  fmt::format("{:.2f} x", large / alone)});
  CHECK(!unit.apply(nowhere(1'000)), "they wait");
  const double zones = load_report(unit);
  rows.push_back({"  and 1,000 for a label each", zones * 1e6, "us to decide",
                  fmt::format("{:.2f} x", zones / alone)});
}

void add_unplaceable(std::vector<Row>& rows) {
  constexpr std::uint32_t kCount = 80'000;
  UnitInProcess unit(kNodesOfChanges);
  unit.deploy(1'000);
  unit.reset_spent();
  CHECK(!unit.apply(too_large(kCount)), "they wait");
  rows.push_back({"80,000 that fit nowhere", unit.spent().deciding, "s to decide",
                  fmt::format("{:.0f} ms the longest step, {:.2f} s storing",
                              unit.spent().longest * 1e3, unit.spent().storing)});
}

}  // namespace

std::vector<Row> small_changes() {
  std::vector<Row> rows;
  add_more(rows);
  add_loads(rows);
  add_unplaceable(rows);
  return rows;
}

}  // namespace berth::bench
