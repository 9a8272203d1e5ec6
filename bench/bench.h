#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// Benchmarks print figures of one run side by side: machines are noisy, ratios are not. Nothing
// here passes or fails.
namespace berth::bench {

// Of a row about placement, for programs.
struct Figures {
  std::string work;
  std::size_t nodes = 0;
  std::size_t instances = 0;
  double ns_per_instance = 0;
  double reference_ns_per_instance = 0;
  std::size_t bytes_per_node = 0;
};

struct Row {
  std::string what;
  double value = 0;
  std::string unit;
  std::string remark;  // the ratio to another row, mostly
  std::optional<Figures> figures = {};
};

struct Benchmark {
  std::string name;
  std::string question;  // what its figures answer
  std::vector<Row> (*measure)();
};

const std::vector<Benchmark>& all_benchmarks();

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start);

// The best of several timings: noise only ever adds.
double best_of(const std::function<double()>& timing);

// Seconds per call.
double seconds_per(std::size_t calls, const std::function<void()>& work);

std::vector<Row> placement_per_instance();
std::vector<Row> step_per_status();
std::vector<Row> launch_per_instance();
std::vector<Row> full_report();
std::vector<Row> small_changes();
std::vector<Row> simulated_hours();
std::vector<Row> real_unit();
std::vector<Row> readiness_to_view();
std::vector<Row> many_callers();
std::vector<Row> durable_applies();
std::vector<Row> sessions();

}  // namespace berth::bench
