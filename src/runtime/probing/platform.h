#pragma once

#include "model/runtime.h"

namespace berth::runtime {

// What images must be made for to run here, in the words of OCI images.
model::Platform platform_of_machine();

}  // namespace berth::runtime
