#include "sim/report.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace berth::sim {
namespace {

using Field = std::pair<const char*, std::uint64_t Counts::*>;

constexpr std::array kFields{
    Field{"tasks", &Counts::tasks},
    Field{"steps of the controller", &Counts::controller_steps},
    Field{"steps of agents", &Counts::agent_steps},
    Field{"checks", &Counts::checks},
    Field{"calls of users", &Counts::calls},
    Field{"connections", &Counts::connections},
    Field{"messages sent", &Counts::sent},
    Field{"messages lost", &Counts::lost},
    Field{"messages repeated", &Counts::duplicated},
    Field{"messages reordered", &Counts::reordered},
    Field{"partitions", &Counts::partitions},
    Field{"crashes of the controller", &Counts::controller_crashes},
    Field{"crashes of agents", &Counts::agent_crashes},
    Field{"reboots of nodes", &Counts::reboots},
    Field{"commits failed", &Counts::failed_commits},
    Field{"runs started", &Counts::starts},
    Field{"runs crashed", &Counts::run_crashes},
    Field{"lies of runtimes", &Counts::lies},
    Field{"runtimes hung", &Counts::hangs},
    Field{"jumps of the clock", &Counts::clock_jumps},
    Field{"nodes cloned", &Counts::clones},
};

}  // namespace

std::string failure_text(const Outcome& outcome) {
  std::string text;
  for (const Violation& violation : outcome.violations) {
    text += fmt::format("seed {} at {}: {}: {}\n", outcome.seed, clock_text(violation.when),
                        violation.checker, violation.what);
  }
  if (!text.empty()) text += fmt::format("replay: {}\n", outcome.replay);
  return text;
}

std::string summary_text(const Counts& counts, Duration virtual_time) {
  std::string text =
      fmt::format("  {:<26} {}\n", "virtual time", clock_text(Time{} + virtual_time));
  for (const auto& [name, member] : kFields) {
    text += fmt::format("  {:<26} {}\n", name, counts.*member);
  }
  return text;
}

void add(const Counts& from, Counts& to) {
  for (const auto& [name, member] : kFields) to.*member += from.*member;
}

}  // namespace berth::sim
