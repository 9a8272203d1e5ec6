#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>

#include "bench/bench.h"

namespace {

using berth::bench::Benchmark;
using berth::bench::Row;

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
  CLI11_PARSE(app, argc, argv);
  for (const Benchmark& benchmark : berth::bench::all_benchmarks()) {
    if (names.empty() || std::ranges::find(names, benchmark.name) != names.end()) show(benchmark);
  }
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "berth-bench: {}\n", error.what());
  return 1;
}
