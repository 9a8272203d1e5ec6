#pragma once

#include "runtime/component/medium.h"

namespace berth::runtime {

// Firmware is handled by commands of the item; their exit codes say how it went. Slots are only how
// it is kept in mind which version is confirmed and which is tried.
class FirmwareMedium final : public Medium {
 public:
  std::string why_not_ready() const override { return ""; }
  Started<std::string> identify(const model::InstanceSpec& spec, const Patience& patience) override;
  Started<void> write(const Job& job) override;
  Started<void> verify(const Job& job) override;
  Started<void> activate(const Job& job) override;
  RolledBack roll_back(const SlotState& state) override;
  void discard(Slot slot) override;
  Result<void> restore(std::optional<Slot> active) override;
  std::string path_of(Slot) const override { return ""; }
};

}  // namespace berth::runtime
