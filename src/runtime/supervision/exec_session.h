#pragma once

#include <memory>

#include "base/result.h"
#include "runtime/runtime.h"
#include "runtime/shim/spawn.h"

namespace berth::runtime {

// What to run for an exec: a program on this machine, which may be the one that runs another inside
// of a container and says in a file which process that is.
struct ExecPlan {
  shim::SpawnRequest program;  // its three descriptors are given by the session
  std::string inner_pid_file = {};
  bool has_inner_terminal = false;  // it only passes on what is typed, to a terminal inside
};

// Starts it, on a terminal of its own or on pipes. The listener is called by a thread of the
// session; the session must not be destroyed by that thread.
Result<std::unique_ptr<ExecSession>> open_session(ExecPlan plan, const ExecRequest& request,
                                                  ExecListener listener);

}  // namespace berth::runtime
