#include <algorithm>

#include "placement/rule.h"

namespace berth::placement {

// It comes after capacity: a full node of high priority falls through to the lower ones.
void keep_top_priority(std::vector<Fit>& fits) {
  const auto top = std::ranges::max_element(fits, {}, &Fit::priority)->priority;
  std::erase_if(fits, [top](const Fit& fit) { return fit.priority < top; });
}

}  // namespace berth::placement
