#pragma once

#include <cstdint>

#include "shell/guests.h"

namespace berth::controld {

// How many connections each port may have, so that all of them together leave the daemon the
// descriptors that it needs itself, and none takes another's.
struct ConnectionLimits {
  shell::Guests::Limits grpc;
  shell::Guests::Limits https;
  shell::Guests::Limits local;  // the unix socket
};

// Of a process that may have so many descriptors.
ConnectionLimits connection_limits(std::uint64_t descriptors);

}  // namespace berth::controld
