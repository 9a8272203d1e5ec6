#pragma once

#include <cstdint>
#include <optional>

#include "control/state.h"
#include "model/protocol.h"

namespace berth::control {

// Each start of the control plane is a life, with a number that the shell draws. The store knows
// the lives whose commands agents may have; a receipt tells of which life it is. Numbers of
// commands alone would not do: an older store counts on by itself, and comes to numbers that were
// given before, for other things.
class Lives {
 public:
  static constexpr std::size_t kKeptMax = 64;

  // At the start. 0: this life is not told from others.
  void begin(std::uint64_t own, const model::CounterRecord& counters);

  // With the first command of this life, in the same batch.
  void record_own(State& state);

  // The last command of that life that the store knows of; nullopt: it knows nothing of that life.
  std::optional<model::CommandNumber> last_known(const Durable& durable,
                                                 const model::Receipt& receipt) const;

 private:
  std::uint64_t own_ = 0;
  std::uint64_t begun_at_ = 0;  // the revision of the store when it was opened
  bool is_recorded_ = false;
};

}  // namespace berth::control
