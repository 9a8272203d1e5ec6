#pragma once

#include <cstdint>

#include "model/node.h"

// What is measured always flickers: who is told is told again when it is something else.
namespace berth::agent {

// By more than a tenth, and by more than what always flickers.
constexpr bool has_moved(std::int64_t told, std::int64_t now, std::int64_t flicker) {
  const std::int64_t change = now > told ? now - told : told - now;
  return change > flicker && change > told / 10;
}

inline bool has_moved(const model::Usage& told, const model::Usage& now) {
  constexpr std::int64_t kDmipsFlicker = 5;
  constexpr std::int64_t kRamFlicker = 1 << 20;
  return has_moved(told.cpu.count(), now.cpu.count(), kDmipsFlicker) ||
         has_moved(told.ram.count(), now.ram.count(), kRamFlicker);
}

}  // namespace berth::agent
