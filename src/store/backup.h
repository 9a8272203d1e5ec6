#pragma once

#include <string>

#include "base/result.h"

namespace berth::store {

// Offered by a store that can be copied while it is in use.
class Backup {
 public:
  virtual ~Backup() = default;

  // The bytes of a file from which the same store can be made. From any thread; who commits waits
  // while they are copied.
  virtual Result<std::string> image() const = 0;
};

}  // namespace berth::store
