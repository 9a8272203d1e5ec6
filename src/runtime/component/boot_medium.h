#pragma once

#include "runtime/component/slot_directory.h"

namespace berth::runtime {

// Slots are files, each an image of a boot partition.
class BootMedium final : public SlotDirectory {
 public:
  using SlotDirectory::SlotDirectory;

  std::string why_not_ready() const override;
  Started<void> write(const Job& job) override;
  Started<void> verify(const Job& job) override;

 protected:
  const std::string* reference_of(const model::InstanceSpec& spec) const override;
};

}  // namespace berth::runtime
