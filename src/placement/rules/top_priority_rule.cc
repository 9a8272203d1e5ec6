#include <algorithm>

#include "placement/rule.h"

namespace berth::placement {

void keep_home(std::vector<Fit>& fits) {
  if (std::ranges::none_of(fits, &Fit::is_home)) return;
  std::erase_if(fits, [](const Fit& fit) { return !fit.is_home; });
}

// It comes after capacity: a full node of high priority falls through to the lower ones.
void keep_top_priority(std::vector<Fit>& fits) {
  const auto top = std::ranges::max_element(fits, {}, &Fit::priority)->priority;
  std::erase_if(fits, [top](const Fit& fit) { return fit.priority < top; });
}

}  // namespace berth::placement
