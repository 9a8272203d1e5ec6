#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "runtime/runtime.h"

namespace berth::runtime {

// What the kernel says of a process.
struct ProcessFigures {
  pid_t pid = 0;
  pid_t parent = 0;
  std::chrono::microseconds own_time{};
  std::chrono::microseconds children_time{};  // of those it has waited for
  Bytes resident;
  char state = '?';  // T: stopped by a signal, t: by a debugger, Z: ended, X: gone
};

// The content of /proc/PID/stat. The name in it may hold anything, parentheses and newlines too.
std::optional<ProcessFigures> parse_stat(std::string_view text);

std::vector<ProcessFigures> read_processes();
std::optional<ProcessFigures> read_process(pid_t pid);  // nullopt: there is none

// Whether a signal that was sent to the process still waits for it to take it.
bool has_pending(pid_t pid, int signal);

std::vector<pid_t> processes_below(pid_t root, const std::vector<ProcessFigures>& processes);

// What all processes below each of these have used together, those that have ended too.
std::map<pid_t, Consumption> consumption_below(const std::vector<ProcessFigures>& processes,
                                               const std::set<pid_t>& roots);

}  // namespace berth::runtime
