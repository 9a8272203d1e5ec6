#pragma once

#include <cstdint>

namespace berth::shell {

// How many descriptors this process may have open.
struct DescriptorLimit {
  std::uint64_t before = 0;  // as it was started, and what its children should have
  std::uint64_t now = 0;
};

// Takes all that the machine allows us: the usual soft limit is for programs that wait with
// select(), which we do not. Children inherit it, unless whoever starts them gives `before` back.
DescriptorLimit raise_descriptor_limit();

}  // namespace berth::shell
