#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "runtime/runtimes.h"

namespace berth::runtime {

struct RemovedImage {
  std::string digest;
  Bytes size;
};

// Removes the images that no run on the disk uses and no reference of `wanted` means, as far as the
// limits say. It looks at a file for each image and each run, and walks over no tree. One that is
// being removed is never found by anybody, also when the machine dies meanwhile: what is left of it
// goes the next time. One call at a time.
std::vector<RemovedImage> remove_unused_images(const MachineConfig& machine,
                                               const std::set<std::string>& wanted);

}  // namespace berth::runtime
