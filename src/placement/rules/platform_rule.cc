#include <algorithm>

#include "placement/rules/rules.h"

namespace berth::placement {
namespace {

bool agrees(const std::string& named, const std::string& offered) {
  return named.empty() || named == offered;
}

std::optional<Shortfall> platform_turns_down(const Candidate& candidate) {
  const model::Platform& needs = candidate.image.platform;
  const model::Platform& offers = candidate.runtime->platform;
  const bool fits = agrees(needs.arch, offers.arch) && agrees(needs.os, offers.os) &&
                    agrees(needs.variant, offers.variant) &&
                    agrees(needs.os_version, offers.os_version) &&
                    std::ranges::includes(offers.os_features, needs.os_features);
  if (fits) return std::nullopt;
  return Shortfall{};
}

}  // namespace

const Rule platform_rule{Reason::NoMatchingPlatform, Purpose::Keep, About::Kind,
                         platform_turns_down};

}  // namespace berth::placement
