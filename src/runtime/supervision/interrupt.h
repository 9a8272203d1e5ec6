#pragma once

#include "base/time.h"
#include "runtime/shim/files.h"

namespace berth::runtime {

// Ends what waits or takes long: once raised it stays so. Safe to use from several threads.
class Interrupt {
 public:
  Interrupt();

  void raise();
  bool is_raised() const { return wait(Duration{}); }

  // True: it was raised, before the time was over.
  bool wait(Duration time) const;

  int fd() const { return event_.get(); }  // readable when raised

 private:
  shim::Fd event_;
};

}  // namespace berth::runtime
