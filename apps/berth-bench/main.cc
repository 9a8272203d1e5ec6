#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

#include "bench/bench.h"

namespace {

using berth::bench::Benchmark;
using berth::bench::Row;

// What a row about placement says is told by figures of its own, any other by its one value.
std::string json_of(const Benchmark& benchmark, const Row& row) {
  if (!row.figures) {
    return fmt::format(R"({{"work": "{}: {}", "value": {:.3f}, "unit": "{}"}})", benchmark.name,
                       row.what, row.value, row.unit);
  }
  return fmt::format(R"({{"work": "{}", "nodes": {}, "instances": {}, "ns_per_instance": {:.1f}, )"
                     R"("reference_ns_per_instance": {:.1f}, "bytes_per_node": {}}})",
                     row.figures->work, row.figures->nodes, row.figures->instances,
                     row.figures->ns_per_instance, row.figures->reference_ns_per_instance,
                     row.figures->bytes_per_node);
}

void show_json(const std::vector<const Benchmark*>& benchmarks) {
  const char* before = "[\n  ";
  for (const Benchmark* benchmark : benchmarks) {
    for (const Row& row : benchmark->measure()) {
      fmt::print("{}{}", std::exchange(before, ",\n  "), json_of(*benchmark, row));
      std::fflush(stdout);
    }
  }
  fmt::print("\n]\n");
}

void show(const Benchmark& benchmark) {
  fmt::print("{}: {}\n", benchmark.name, benchmark.question);
  std::fflush(stdout);
  for (const Row& row : benchmark.measure()) {
    fmt::print("  {:20} {:12.3f} {:26} {}\n", row.what, row.value, row.unit, row.remark);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Measures Berth: figures of one run, to be read as ratios.", "berth-bench"};
  std::vector<std::string> names;
  std::vector<std::string> known;
  for (const Benchmark& benchmark : berth::bench::all_benchmarks()) known.push_back(benchmark.name);
  app.add_option("name", names, "which benchmarks (all if none is named)")
      ->check(CLI::IsMember(known));
  std::string output = "text";
  app.add_option("-o,--output", output, "text, or json: a list of all rows")
      ->check(CLI::IsMember({"text", "json"}));
  CLI11_PARSE(app, argc, argv);
  std::vector<const Benchmark*> chosen;
  for (const Benchmark& benchmark : berth::bench::all_benchmarks()) {
    const bool is_chosen = names.empty() || std::ranges::find(names, benchmark.name) != names.end();
    if (is_chosen) chosen.push_back(&benchmark);
  }
  if (output == "json") {
    show_json(chosen);
  } else {
    for (const Benchmark* benchmark : chosen) show(*benchmark);
  }
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "berth-bench: {}\n", error.what());
  return 1;
}
