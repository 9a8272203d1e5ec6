#include "runtime/supervision/intervention.h"

namespace berth::runtime {
namespace {

constexpr Duration kHearing = 2s;
constexpr Duration kCleaningUp = 10s;  // what a shim has to do when the program has ended

}  // namespace

Intervention intervention_in(const StopUnderWay& stop) {
  if (stop.has_heard) {
    return stop.since < stop.grace + kCleaningUp ? Intervention::None : Intervention::KillShim;
  }
  if (stop.since < kHearing) return Intervention::None;
  const bool has_time = stop.can_be_asked && stop.since < stop.grace;
  return has_time ? Intervention::AskProgram : Intervention::KillShim;
}

}  // namespace berth::runtime
