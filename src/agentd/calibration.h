#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/store.h"

namespace berth::agentd {

// What one core of this machine does, in DMIPS: millions of instructions per second of the machine
// that defines one MIPS by the Dhrystone benchmark. A mix of work like that benchmark's is done for
// about a fifth of a second of processor time, so that what else runs meanwhile does not count, and
// the best of several turns is taken: others can only slow it down.
std::int64_t measure_dmips_per_core();

// What was measured on this node once and for all: capacity and quotas must mean the same after a
// restart. The first time it is measured, and stored.
struct Calibration {
  std::int64_t dmips_per_core = 0;
  bool is_new = false;
};
Result<Calibration> calibrate(store::Store& store,
                              std::int64_t (*measure)() = measure_dmips_per_core);

}  // namespace berth::agentd
