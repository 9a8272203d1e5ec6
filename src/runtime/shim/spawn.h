#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/shim/launch.h"

namespace berth::runtime::shim {

// A program to start: the leader of a session of its own, with no descriptors but its three, with
// no signal blocked or ignored, and without core dumps. -1 is /dev/null.
struct SpawnRequest {
  std::vector<std::string> argv;
  std::vector<std::string> env;  // PATH in it is where argv[0] is looked for
  std::string directory = {};    // empty: as it is
  int input = -1;
  int output = -1;
  int error = -1;
  std::optional<User> user = {};
  std::uint64_t open_files = 0;
  std::uint64_t data_bytes = 0;
  std::string network_namespace = {};
  std::vector<std::string> cgroup_files = {};
  bool has_terminal = false;      // the input is a terminal, to be the session's own
  bool dies_with_parent = false;  // with the thread that called: for single-threaded parents only
};

struct Spawned {
  pid_t pid = -1;     // -1: it was not started, and
  std::string error;  // this is why
  bool is_running() const { return pid >= 0; }
};

// Returns when the program has taken over, or could not be started. Safe with other threads.
Spawned spawn(const SpawnRequest& request);

// So many open files are a child's soft limit, unless it is told otherwise: for a process that has
// raised its own. Before there are other threads.
void give_children_open_files(std::uint64_t count);

// The present process's environment.
std::vector<std::string> own_environment();

}  // namespace berth::runtime::shim
