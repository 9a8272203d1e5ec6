#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "cli/ask/sources.h"
#include "codec/manifest.h"
#include "sim/demo.h"
#include "sim/flapping.h"
#include "sim/report.h"
#include "sim/run.h"

namespace {

using namespace berth;

enum Exit { kHeld = 0, kViolated = 1, kNotSettled = 2, kInvalid = 3 };

constexpr std::uint64_t kTwiceEvery = 10;

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1;
  std::size_t nodes = 0;
  std::int64_t minutes = 10;
  std::string faults;
  bool trace = false;
  bool quiet = false;
  bool flapping = false;
  std::optional<bool> sessions;
  std::vector<std::string> files;
  std::string list;
};

struct Run {
  std::uint64_t seed = 1;
  std::size_t nodes = 0;  // 0: drawn
};

void print_line(std::string_view line) { fmt::print("{}\n", line); }

sim::Setup setup_of(const Options& options, const sim::Faults& faults) {
  sim::Setup setup;
  setup.seed = options.seed;
  if (options.nodes != 0) setup.nodes = options.nodes;
  setup.faulty = std::chrono::minutes(options.minutes);
  setup.faults = faults;
  if (options.trace) setup.trace = print_line;
  // What is listed was found in worlds without applications.
  setup.sessions = options.list.empty() ? sim::Sessions::Drawn : sim::Sessions::No;
  if (options.sessions) {
    setup.sessions = *options.sessions ? sim::Sessions::Yes : sim::Sessions::No;
  }
  return setup;
}

// One run per line: its seed and its number of nodes.
Result<std::vector<Run>> read_list(const std::string& path) {
  std::ifstream file(path);
  if (!file) return not_found("cannot read " + path);
  std::vector<Run> runs;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    Run run;
    std::istringstream words(line);
    if (!(words >> run.seed >> run.nodes)) return invalid_input(path + ": no run: " + line);
    runs.push_back(run);
  }
  return runs;
}

Result<std::vector<Run>> runs_of(const Options& options) {
  if (!options.list.empty()) return read_list(options.list);
  std::vector<Run> runs;
  for (std::uint64_t i = 0; i < options.seeds; ++i) {
    runs.push_back({options.seed + i, options.nodes});
  }
  return runs;
}

// One line on the terminal that is written over while many seeds run.
class Progress {
 public:
  explicit Progress(bool wanted) : shown_(wanted && isatty(STDERR_FILENO) != 0) {}
  ~Progress() { clear(); }

  void show(std::size_t done, std::size_t all, std::uint64_t failed) const {
    if (shown_) fmt::print(stderr, "\r{} of {} seeds, {} failed", done, all, failed);
  }
  void clear() const {
    if (shown_) fmt::print(stderr, "\r{:60}\r", "");
  }

 private:
  bool shown_;
};

int run_seeds(const Options& options, const std::vector<Run>& runs, sim::Setup setup) {
  const bool are_many = runs.size() > 1;
  const Progress progress(!options.quiet && are_many);
  const auto begin = std::chrono::steady_clock::now();
  sim::Counts counts;
  Duration virtual_time{};
  std::uint64_t failed = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    progress.show(i, runs.size(), failed);
    setup.seed = runs[i].seed;
    setup.nodes = runs[i].nodes == 0 ? std::nullopt : std::optional(runs[i].nodes);
    const bool twice = are_many && i % kTwiceEvery == 0 && !options.trace;
    const sim::Outcome outcome = options.flapping ? sim::simulate_flapping(setup)
                                 : twice          ? sim::simulate_twice(setup)
                                                  : sim::simulate(setup);
    sim::add(outcome.counts, counts);
    virtual_time += outcome.virtual_time;
    if (!outcome.violations.empty()) {
      ++failed;
      progress.clear();
      fmt::print("{}", sim::failure_text(outcome));
    } else if (!are_many && !options.quiet) {
      fmt::print("seed {}: {} nodes, trace {:016x}, everything held\n", outcome.seed, outcome.nodes,
                 outcome.hash);
    }
  }
  progress.clear();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (!options.quiet) {
    const double hours = std::chrono::duration<double, std::ratio<3600>>(virtual_time).count();
    fmt::print("{}  {:<26} {:.1f}\n", sim::summary_text(counts, virtual_time),
               "virtual hours per second", hours / took.count());
  }
  if (are_many) {
    fmt::print("{} of {} seeds held in {:.1f} s\n", runs.size() - failed, runs.size(),
               took.count());
  }
  return failed == 0 ? kHeld : kViolated;
}

int invalid(const std::string& message) {
  fmt::print(stderr, "berth-sim: {}\n", message);
  return kInvalid;
}

int run_files(const Options& options, const sim::Setup& setup) {
  const auto files = cli::read_sources(options.files, std::cin);
  if (!files) return invalid(files.error().message);
  const codec::ParsedManifest manifest = codec::parse_manifests(*files);
  for (const codec::Diagnostic& diagnostic : manifest.diagnostics) {
    fmt::print(stderr, "{}\n", codec::to_string(diagnostic));
  }
  if (!manifest.ok()) return kInvalid;
  const Result<sim::DemoOutcome> outcome = sim::run_demo(setup, manifest.documents);
  if (!outcome) return invalid(outcome.error().message);

  fmt::print("{}", sim::to_table(*outcome));
  for (const sim::Violation& violation : outcome->violations) {
    fmt::print("violated: {}: {}\n", violation.checker, violation.what);
  }
  if (!outcome->violations.empty()) return kViolated;
  for (const std::string& missing : outcome->missing) fmt::print("not settled: {}\n", missing);
  if (!outcome->missing.empty()) return kNotSettled;
  fmt::print("settled after {:.1f} s of virtual time\n",
             std::chrono::duration<double>(outcome->settled_after).count());
  return kHeld;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Runs whole units in virtual time and looks for broken promises."};
  app.add_option("--seed", options.seed, "what everything is drawn from");
  app.add_option("--seeds", options.seeds, "run so many seeds, counting up from --seed");
  app.add_option("--nodes", options.nodes, "how many nodes (default: drawn, 3 to 8)");
  app.add_option("--minutes", options.minutes, "how long things go wrong")
      ->check(CLI::Range(0, 100'000));
  app.add_option(
      "--faults", options.faults,
      "what goes wrong: loss,delay,duplicate,reorder,partition,crash,disk,runtime,"
      "readiness,lost-store,fsync,stall,clock,clone, or all, or none (default: all; none "
      "with -f)");
  app.add_option("-f,--file", options.files,
                 "manifests: their Nodes are simulated, everything else is applied");
  app.add_option("--list", options.list,
                 "run what a file lists: seed and number of nodes per line, 0 = drawn");
  app.add_flag("--flapping", options.flapping,
               "100 nodes, or --nodes, whose runtimes come and go; nothing else goes wrong");
  app.add_flag("--sessions,!--no-sessions", options.sessions,
               "with applications and sessions of them, or without (default: drawn; without with "
               "--list)");
  app.add_flag("--trace", options.trace, "print all that happens");
  app.add_flag("-q,--quiet", options.quiet, "print failures only");
  CLI11_PARSE(app, argc, argv);

  if (options.faults.empty()) options.faults = options.files.empty() ? "all" : "none";
  const Result<sim::Faults> faults = sim::parse_faults(options.faults);
  if (!faults) return invalid(faults.error().message);
  const sim::Setup setup = setup_of(options, *faults);
  if (!options.files.empty()) return run_files(options, setup);
  const Result<std::vector<Run>> runs = runs_of(options);
  if (!runs) return invalid(runs.error().message);
  return run_seeds(options, *runs, setup);
}
