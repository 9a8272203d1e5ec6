#include "runtime/container/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>
#include <utility>

#include "runtime/files/run_directory.h"
#include "runtime/shim/files.h"
#include "runtime/shim/launch.h"

namespace berth::runtime {
namespace {

const std::string kBase = "/sys/fs/cgroup";
const std::string kEventsFile = "/memory.events";

// What was killed is gone after milliseconds, but not at once.
constexpr int kTriesToClear = 20;
constexpr std::chrono::milliseconds kPauseBetweenTries{5};

std::optional<std::uint64_t> read_number(const std::string& path) {
  const auto text = shim::read_file(AT_FDCWD, path.c_str(), 4096);
  return text ? shim::parse_number(*text) : std::nullopt;
}

// "usage_usec 123\nuser_usec ..."
std::optional<std::uint64_t> read_member(const std::string& path, std::string_view name) {
  const auto text = shim::read_file(AT_FDCWD, path.c_str(), 64 << 10);
  if (!text) return std::nullopt;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t space = line.find(' ');
    if (line.substr(0, space) == name) return shim::parse_number(line.substr(space + 1));
  }
  return std::nullopt;
}

std::optional<std::chrono::microseconds> cpu_time_of(const std::string& cgroup) {
  if (const auto usec = read_member(kBase + cgroup + "/cpu.stat", "usage_usec")) {
    return std::chrono::microseconds(*usec);
  }
  for (const char* controller : {"/cpuacct", "/cpu,cpuacct"}) {
    const auto nsec = read_number(kBase + controller + cgroup + "/cpuacct.usage");
    if (nsec) return std::chrono::microseconds(*nsec / 1000);
  }
  return std::nullopt;
}

// Without the page cache that can be dropped at once.
std::optional<Bytes> ram_of(const std::string& cgroup) {
  const std::string v2 = kBase + cgroup;
  const std::string v1 = kBase + "/memory" + cgroup;
  auto used = read_number(v2 + "/memory.current");
  auto idle = read_member(v2 + "/memory.stat", "inactive_file");
  if (!used) {
    used = read_number(v1 + "/memory.usage_in_bytes");
    idle = read_member(v1 + "/memory.stat", "total_inactive_file");
  }
  if (!used) return std::nullopt;
  return Bytes(static_cast<std::int64_t>(*used - std::min(*used, idle.value_or(0))));
}

// --- Making one ----------------------------------------------------------------------------------

constexpr int kPeriodUs = 100'000;

Result<void> write_setting(const std::string& file, const std::string& value) {
  const shim::Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.is_open() && shim::write_all(fd.get(), value)) return {};
  return Error{Code::Unavailable,
               fmt::format("cannot write {} to {}: {}", value, file, std::strerror(errno))};
}

// Each of the directories on the way to "/berth/agent/name", below the hierarchy's top.
std::vector<std::string> steps_to(const std::string& cgroup) {
  std::vector<std::string> steps;
  for (std::size_t end = cgroup.find('/', 1); end != std::string::npos;
       end = cgroup.find('/', end + 1)) {
    steps.push_back(cgroup.substr(0, end));
  }
  steps.push_back(cgroup);
  return steps;
}

Result<void> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return Error{Code::Unavailable, fmt::format("cannot make {}: {}", path, std::strerror(errno))};
}

bool is_unified() { return ::access((kBase + "/cgroup.controllers").c_str(), F_OK) == 0; }

// A group has the controllers that each of its parents passes on.
Result<std::vector<std::string>> make_in_v2(const std::string& cgroup,
                                            const ContainerLimits& limits) {
  std::string parent = kBase;
  for (const std::string& step : steps_to(cgroup)) {
    TRY(write_setting(parent + "/cgroup.subtree_control", "+cpu +memory"));
    parent = kBase + step;
    TRY(make_directory(parent));
  }
  if (limits.cpu_quota_us) {
    TRY(write_setting(parent + "/cpu.max", fmt::format("{} {}", *limits.cpu_quota_us, kPeriodUs)));
  }
  if (limits.memory_bytes) {
    TRY(write_setting(parent + "/memory.max", std::to_string(*limits.memory_bytes)));
  }
  return std::vector{parent + "/cgroup.procs"};
}

Result<std::string> make_in_v1(const std::string& controller, const std::string& cgroup) {
  for (const std::string& step : steps_to(cgroup)) {
    TRY(make_directory(kBase + "/" + controller + step));
  }
  return kBase + "/" + controller + cgroup;
}

Result<std::vector<std::string>> make_in_v1(const std::string& cgroup,
                                            const ContainerLimits& limits) {
  std::vector<std::string> files;
  if (limits.cpu_quota_us) {
    const std::string group = TRY(make_in_v1("cpu", cgroup));
    TRY(write_setting(group + "/cpu.cfs_period_us", std::to_string(kPeriodUs)));
    TRY(write_setting(group + "/cpu.cfs_quota_us", std::to_string(*limits.cpu_quota_us)));
    files.push_back(group + "/cgroup.procs");
  }
  if (limits.memory_bytes) {
    const std::string group = TRY(make_in_v1("memory", cgroup));
    TRY(write_setting(group + "/memory.limit_in_bytes", std::to_string(*limits.memory_bytes)));
    files.push_back(group + "/cgroup.procs");
  }
  return files;
}

// --- Clearing one --------------------------------------------------------------------------------

// The group in each of the hierarchies that may be there.
std::vector<std::string> everywhere(const std::string& cgroup) {
  std::vector<std::string> paths{kBase + cgroup};
  std::error_code error;
  for (std::filesystem::directory_iterator at(kBase, error), end; !error && at != end;
       at.increment(error)) {
    paths.push_back(at->path().string() + cgroup);
  }
  return paths;
}

// What stands still does not die.
void thaw(const std::string& path) {
  for (const auto& [file, value] :
       {std::pair("/freezer.state", "THAWED"), {"/cgroup.freeze", "0"}}) {
    const shim::Fd fd(::open((path + file).c_str(), O_WRONLY | O_CLOEXEC));
    if (fd.is_open()) static_cast<void>(shim::write_all(fd.get(), value));
  }
}

void kill_all_in(const std::string& path) {
  std::ifstream processes(path + "/cgroup.procs");
  pid_t pid = 0;
  while (processes >> pid) ::kill(pid, SIGKILL);
}

}  // namespace

Result<std::vector<std::string>> make_cgroup(const std::string& cgroup,
                                             const ContainerLimits& limits) {
  return is_unified() ? make_in_v2(cgroup, limits) : make_in_v1(cgroup, limits);
}

Result<void> limit_run(const std::string& tag, const model::InstanceKey& key,
                       const model::RunId& run, const ContainerLimits& limits,
                       shim::Launch& launch) {
  const std::string cgroup =
      fmt::format("{}/{}.{}", cgroup_of_agent(tag), file_name_of(key), file_name_of(run));
  launch.cgroup_files = TRY(make_cgroup(cgroup, limits));
  launch.oom_files = oom_files_of(cgroup);
  return {};
}

std::string why_no_cpu_limits(const std::string& tag) {
  if (std::string why = why_no_cgroups(); !why.empty()) return why;
  const std::string cgroup = cgroup_of_agent(tag) + "/probe";
  const auto made = make_cgroup(cgroup, {.memory_bytes = {}, .cpu_quota_us = kPeriodUs});
  remove_cgroup(cgroup);
  remove_cgroup(cgroup_of_agent(tag));  // if nothing runs
  return made ? "" : made.error().message;
}

std::string cgroup_of_agent(const std::string& tag) { return "/berth/" + file_name_of(tag); }

std::string cgroup_of_node(const std::string& node) { return "/berth/" + file_name_of(node); }

std::string cgroup_of(const shim::Launch& launch) {
  if (launch.oom_files.empty()) return "";
  const std::string& file = launch.oom_files.front();
  if (!file.starts_with(kBase) || !file.ends_with(kEventsFile)) return "";
  return file.substr(kBase.size(), file.size() - kBase.size() - kEventsFile.size());
}

std::vector<std::string> oom_files_of(const std::string& cgroup) {
  return {kBase + cgroup + kEventsFile, kBase + "/memory" + cgroup + "/memory.oom_control"};
}

std::optional<Consumption> consumption_of(const std::string& cgroup) {
  const auto cpu_time = cpu_time_of(cgroup);
  const auto ram = ram_of(cgroup);
  if (!cpu_time && !ram) return std::nullopt;
  return Consumption{cpu_time.value_or(std::chrono::microseconds{}), ram.value_or(Bytes{})};
}

void remove_cgroup(const std::string& cgroup) {
  for (const std::string& path : everywhere(cgroup)) ::rmdir(path.c_str());
}

void remove_cgroups_of(const std::string& tag, const std::string& node) {
  remove_cgroup(cgroup_of_agent(tag));
  remove_cgroup(cgroup_of_node(node));
}

void kill_cgroup(const std::string& cgroup) {
  const std::vector<std::string> paths = everywhere(cgroup);
  for (const std::string& path : paths) kill_all_in(path);
  for (const std::string& path : paths) thaw(path);
}

void clear_cgroup(const std::string& cgroup) {
  const std::vector<std::string> paths = everywhere(cgroup);
  for (int tries = 0; tries < kTriesToClear; ++tries) {
    bool is_gone = true;
    for (const std::string& path : paths) {
      const bool is_in_use = ::rmdir(path.c_str()) != 0 && (errno == EBUSY || errno == ENOTEMPTY);
      if (!is_in_use) continue;
      is_gone = false;
      kill_all_in(path);
    }
    if (is_gone) return;
    std::this_thread::sleep_for(kPauseBetweenTries);
  }
}

std::string why_no_cgroups() {
  const bool is_unified = ::access((kBase + "/cgroup.controllers").c_str(), F_OK) == 0;
  const std::string base = is_unified ? kBase : kBase + "/memory";
  if (::access(base.c_str(), W_OK | X_OK) == 0) return "";
  return fmt::format("cannot write to {}: {}", base, std::strerror(errno));
}

}  // namespace berth::runtime
