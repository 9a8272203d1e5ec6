#pragma once

#include <string>

#include "base/result.h"

namespace berth::network {

// Tells all neighbours of the device, in the network namespace of the calling thread, that its
// address is here: bridges and tunnels that have seen it elsewhere send their frames here from now
// on.
Result<void> announce(const std::string& device);

}  // namespace berth::network
