#pragma once

#include <string>

namespace berth::runtime::shim {

// Sends SIGKILL to each child of this process.
void kill_children();

// What a non-blocking descriptor has to give now, at most 64 KiB of it.
std::string read_what_is_there(int fd);

}  // namespace berth::runtime::shim
