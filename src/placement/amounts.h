#pragma once

#include "base/quantity.h"

namespace berth::placement {

// Amounts of the four metered resources.
struct Amounts {
  Dmips cpu;
  Bytes ram;
  Bytes storage;
  Bytes state;

  friend bool operator==(const Amounts&, const Amounts&) = default;
};

}  // namespace berth::placement
