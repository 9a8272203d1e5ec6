#pragma once

#include <string>

#include "model/ids.h"
#include "model/runtime.h"

namespace berth::runtime {

// One runtime of this machine. There may be several of one type, but for components.
struct RuntimeSpec {
  model::RuntimeId id;
  model::RuntimeType type = model::RuntimeType::Process;
  std::string program = {};  // of containers and machines: a path or a name; empty: the usual one

  friend bool operator==(const RuntimeSpec&, const RuntimeSpec&) = default;
};

}  // namespace berth::runtime
