#include "runtime/process/process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string>

#include "runtime/shim/files.h"

namespace berth::runtime {
namespace {

// The fields of proc(5), counted from the state, which is number 3 there.
constexpr std::size_t kParent = 1;
constexpr std::size_t kUserTime = 11;
constexpr std::size_t kSystemTime = 12;
constexpr std::size_t kChildrenUserTime = 13;
constexpr std::size_t kChildrenSystemTime = 14;
constexpr std::size_t kResidentPages = 21;
constexpr std::size_t kFields = 22;

std::chrono::microseconds from_ticks(std::int64_t ticks) {
  static const long per_second = ::sysconf(_SC_CLK_TCK);
  return std::chrono::microseconds(ticks * 1'000'000 / per_second);
}

template <class Number>
bool parse(std::string_view text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size();
}

// The root that a process is below of, walking up; 0: none.
pid_t root_of(pid_t pid, const std::map<pid_t, pid_t>& parents, const std::set<pid_t>& roots) {
  for (std::size_t steps = 0; steps <= parents.size(); ++steps) {
    if (roots.contains(pid)) return pid;
    const auto parent = parents.find(pid);
    if (parent == parents.end() || parent->second <= 1) return 0;
    pid = parent->second;
  }
  return 0;
}

std::map<pid_t, pid_t> parents_of(const std::vector<ProcessFigures>& processes) {
  std::map<pid_t, pid_t> parents;
  for (const ProcessFigures& process : processes) parents[process.pid] = process.parent;
  return parents;
}

std::optional<ProcessFigures> read_stat(const std::string& pid) {
  const std::string path = fmt::format("/proc/{}/stat", pid);
  const auto text = shim::read_file(AT_FDCWD, path.c_str(), 4096);
  return text ? parse_stat(*text) : std::nullopt;
}

}  // namespace

std::optional<ProcessFigures> parse_stat(std::string_view text) {
  ProcessFigures figures;
  const std::size_t name = text.find(" (");
  const std::size_t after = text.rfind(") ");
  if (after == std::string_view::npos || !parse(text.substr(0, name), figures.pid)) {
    return std::nullopt;
  }
  std::array<std::string_view, kFields> fields;
  std::string_view rest = text.substr(after + 2);
  for (std::string_view& field : fields) {
    const std::size_t end = rest.find(' ');
    field = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  std::int64_t user = 0, system = 0, children_user = 0, children_system = 0, pages = 0;
  if (!parse(fields[kParent], figures.parent) || !parse(fields[kUserTime], user) ||
      !parse(fields[kSystemTime], system) || !parse(fields[kChildrenUserTime], children_user) ||
      !parse(fields[kChildrenSystemTime], children_system) ||
      !parse(fields[kResidentPages], pages)) {
    return std::nullopt;
  }
  figures.state = fields[0].empty() ? '?' : fields[0].front();
  figures.own_time = from_ticks(user + system);
  figures.children_time = from_ticks(children_user + children_system);
  figures.resident = Bytes(pages * ::sysconf(_SC_PAGESIZE));
  return figures;
}

std::vector<ProcessFigures> read_processes() {
  std::vector<ProcessFigures> processes;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (!proc) return processes;
  while (const dirent* entry = ::readdir(proc.get())) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    if (const auto figures = read_stat(entry->d_name)) processes.push_back(*figures);
  }
  return processes;
}

std::optional<ProcessFigures> read_process(pid_t pid) { return read_stat(std::to_string(pid)); }

// "ShdPnd:" and a mask in hex, in which the first signal is the lowest bit.
bool has_pending(pid_t pid, int signal) {
  constexpr std::string_view kMask = "\nShdPnd:\t";
  const std::string path = fmt::format("/proc/{}/status", pid);
  const auto text = shim::read_file(AT_FDCWD, path.c_str(), 16 << 10);
  const std::size_t at = text ? text->find(kMask) : std::string::npos;
  if (at == std::string::npos) return false;
  const char* digits = text->c_str() + at + kMask.size();
  return (std::strtoull(digits, nullptr, 16) >> (signal - 1) & 1) != 0;
}

std::vector<pid_t> processes_below(pid_t root, const std::vector<ProcessFigures>& processes) {
  const std::map<pid_t, pid_t> parents = parents_of(processes);
  std::vector<pid_t> below;
  for (const ProcessFigures& process : processes) {
    const bool is_below = process.pid != root && root_of(process.pid, parents, {root}) == root;
    if (is_below) below.push_back(process.pid);
  }
  return below;
}

std::map<pid_t, Consumption> consumption_below(const std::vector<ProcessFigures>& processes,
                                               const std::set<pid_t>& roots) {
  const std::map<pid_t, pid_t> parents = parents_of(processes);
  std::map<pid_t, Consumption> sums;
  for (const ProcessFigures& process : processes) {
    const pid_t root = root_of(process.pid, parents, roots);
    if (root == 0) continue;
    Consumption& sum = sums[root];
    sum.cpu_time += process.children_time;
    if (process.pid == root) continue;  // the root itself only carries what others leave to it
    sum.cpu_time += process.own_time;
    sum.ram += process.resident;
  }
  return sums;
}

}  // namespace berth::runtime
