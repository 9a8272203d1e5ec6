#include "runtime/files/leftovers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

#include "runtime/container/cgroup.h"
#include "runtime/files/run_directory.h"
#include "runtime/process/process_table.h"
#include "runtime/shim/files.h"
#include "runtime/shim/oci.h"

namespace berth::runtime {
namespace {

constexpr std::int64_t kDeleteMs = 10'000;

// A number can be another process's by now; the mark in its environment cannot.
bool is_marked(pid_t pid, const std::string& mark) {
  const std::string path = fmt::format("/proc/{}/environ", pid);
  const auto environment = shim::read_file(AT_FDCWD, path.c_str(), 4 << 20);
  return environment && ('\0' + *environment).find('\0' + mark + '\0') != std::string::npos;
}

// Its processes first: the OCI runtime may be what hangs, and nobody waits for it for long.
void end_container(const shim::Launch& launch) {
  const std::string cgroup = cgroup_of(launch);
  if (!cgroup.empty()) kill_cgroup(cgroup);
  static_cast<void>(shim::oci_delete(launch, kDeleteMs));
  if (!cgroup.empty()) clear_cgroup(cgroup);
}

// A process that was killed takes a moment to leave.
void remove_when_empty(const std::string& cgroup_file) {
  const std::string group = cgroup_file.substr(0, cgroup_file.rfind('/'));
  for (int i = 0; i < 100 && ::rmdir(group.c_str()) != 0 && errno == EBUSY; ++i) {
    ::poll(nullptr, 0, 10);
  }
}

}  // namespace

std::string mark_of(const std::string& tag, const model::InstanceKey& key,
                    const model::RunId& run) {
  return fmt::format("{}/{}/{}", tag, file_name_of(key), file_name_of(run));
}

void end_leftovers(const shim::Launch& launch) {
  if (launch.is_container()) return end_container(launch);
  const std::string prefix = std::string(kRunVariable) + "=";
  const auto mark = std::find_if(launch.env.begin(), launch.env.end(), [&](const auto& variable) {
    return variable.starts_with(prefix);
  });
  if (mark == launch.env.end()) return;
  for (const ProcessFigures& process : read_processes()) {
    if (is_marked(process.pid, *mark)) ::kill(process.pid, SIGKILL);
  }
  for (const std::string& file : launch.cgroup_files) remove_when_empty(file);
}

}  // namespace berth::runtime
