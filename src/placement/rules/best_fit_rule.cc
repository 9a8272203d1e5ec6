#include <algorithm>
#include <compare>

#include "placement/rule.h"

namespace berth::placement {
namespace {

using Comparison = std::strong_ordering (*)(const Fit&, const Fit&);

struct Criterion {
  Preference preference;
  Comparison better;  // greater = the first is better
};

// The most room first, so that work spreads; then names, so that the answer is reproducible.
constexpr std::array kCriteria{
    Criterion{Preference::Cpu,
              [](const Fit& a, const Fit& b) { return a.cpu_left <=> b.cpu_left; }},
    Criterion{Preference::Ram,
              [](const Fit& a, const Fit& b) { return a.ram_left <=> b.ram_left; }},
    Criterion{Preference::NodeName, [](const Fit& a, const Fit& b) { return *b.node <=> *a.node; }},
    Criterion{Preference::TypeOrder,
              [](const Fit& a, const Fit& b) { return b.type_preference <=> a.type_preference; }},
    Criterion{Preference::RuntimeName,
              [](const Fit& a, const Fit& b) { return *b.runtime <=> *a.runtime; }},
};

}  // namespace

const Fit& best_fit(const std::vector<Fit>& fits) {
  const Fit* best = &fits.front();
  for (const Fit& fit : fits) {
    for (const Criterion& criterion : kCriteria) {
      const auto order = criterion.better(fit, *best);
      if (order > 0) best = &fit;
      if (order != 0) break;
    }
  }
  return *best;
}

Preference what_decided(const Fit& winner, const Fit& loser) {
  if (winner.is_home != loser.is_home) return Preference::Data;
  if (winner.priority != loser.priority) return Preference::NodePriority;
  for (const Criterion& criterion : kCriteria) {
    if (criterion.better(winner, loser) != 0) return criterion.preference;
  }
  return Preference::RuntimeName;
}

bool is_better(const Fit& a, const Fit& b) {
  if (a.is_home != b.is_home) return a.is_home;
  if (a.priority != b.priority) return a.priority > b.priority;
  for (const Criterion& criterion : kCriteria) {
    const auto order = criterion.better(a, b);
    if (order != 0) return order > 0;
  }
  return false;
}

}  // namespace berth::placement
