#pragma once

#include <signal.h>

namespace berth::cli {

// While it lives, the first Ctrl-C (or SIGTERM) is only noted, so that the program can say what is
// going on before it ends. A second one ends it at once. At most one lives at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool requested() const;

 private:
  struct sigaction before_int_;
  struct sigaction before_term_;
};

}  // namespace berth::cli
