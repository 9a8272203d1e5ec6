#pragma once

#include <cstdint>

namespace berth::shell {

// How many files a process may have open: now, and at most.
struct Limits {
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;

  friend bool operator==(const Limits&, const Limits&) = default;
};

// Lets this process have as many files open as it may: the usual limit of 1,024 is there for
// programs that use select(), not for daemons. Gives what the limits were, to be restored for what
// is started; all zero if they cannot be read.
Limits raise_descriptor_limit();

}  // namespace berth::shell
