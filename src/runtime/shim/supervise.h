#pragma once

// The shim: starts one program, keeps its output and writes down how it ended, whatever becomes of
// the agent meanwhile.
namespace berth::runtime::shim {

// Leaves its caller's session and becomes the supervisor of the run whose directory this is; see
// runtime/shim/launch.h for what it finds and leaves there. Says on standard output whether the
// program was started, and closes it: "started\n", or "failed\n", a reason, and a message. The
// caller's process returns at once.
int supervise(const char* run_directory);

}  // namespace berth::runtime::shim
