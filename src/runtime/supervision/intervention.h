#pragma once

#include "base/time.h"

namespace berth::runtime {

// A stop that a shim was told of and has not carried out yet.
struct StopUnderWay {
  Duration since{};           // it was told
  Duration grace{};           // that the program has
  bool has_heard = true;      // the shim; one that hangs or stands still has not
  bool can_be_asked = false;  // the program lives, and a signal means to it that it shall end
};

// What the agent does itself.
enum class Intervention { None, AskProgram, KillShim };

// A shim that does not hear within two seconds is not waited for: its program is asked to end in
// its place, and after the grace the shim is killed. One that has heard, and is not done long after
// the grace, is killed too. Pure.
Intervention intervention_in(const StopUnderWay& stop);

}  // namespace berth::runtime
