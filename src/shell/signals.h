#pragma once

#include <initializer_list>
#include <optional>

#include "base/result.h"
#include "base/time.h"

namespace berth::shell {

// SIGTERM and SIGINT as values, and what else is asked for. To be made before any thread is
// started, so that all inherit the mask and no other thread is interrupted. SIGPIPE is ignored from
// then on: a write to a peer that has gone gives an error. Who starts other programs must give them
// an empty mask.
class Signals {
 public:
  static Result<Signals> block(std::initializer_list<int> others = {});

  Signals(Signals&& other) noexcept;
  Signals& operator=(Signals&&) = delete;
  ~Signals();

  // The signal that came; waits for one until then. nullopt: the time has come.
  std::optional<int> wait(std::optional<Time> until);

 private:
  explicit Signals(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace berth::shell
