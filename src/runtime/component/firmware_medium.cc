#include "runtime/component/firmware_medium.h"

#include <fmt/format.h>

#include "base/check.h"

namespace berth::runtime {
namespace {

constexpr Duration kRevertTime = 10min;

}  // namespace

Started<std::string> FirmwareMedium::identify(const model::InstanceSpec& spec, const Patience&) {
  const auto* image = image_of<model::FirmwareImage>(spec);
  if (image == nullptr || image->install.empty()) {
    return tl::unexpected(model::Problem{"ImageInvalid", "there is no command to install it"});
  }
  return fmt::format("{}", fmt::join(image->install, " "));
}

// Nobody who only wants something else interrupts what may be writing to a chip.
Started<void> FirmwareMedium::write(const Job& job) {
  const auto* image = image_of<model::FirmwareImage>(job.spec);
  CHECK(image != nullptr, "only what was identified is written");
  const Interrupt never;
  return run_tool(image->install, "InstallFailed", {job.patience.deadline, never});
}

// That is the command's own business.
Started<void> FirmwareMedium::verify(const Job&) { return {}; }

Started<void> FirmwareMedium::activate(const Job& job) {
  const auto* image = image_of<model::FirmwareImage>(job.spec);
  if (image->activate.empty()) return {};
  const Interrupt never;
  return run_tool(image->activate, "ActivationFailed", {job.patience.deadline, never});
}

Medium::RolledBack FirmwareMedium::roll_back(const SlotState& state) {
  const auto& tried = component_in(state, spare_slot(state));
  if (!tried || tried->revert.empty()) return {Outcome::Lost, "the item has no command to revert"};
  const Interrupt never;
  const auto reverted = run_tool(tried->revert, "RollBackFailed", {kRevertTime, never});
  if (!reverted) return {Outcome::Lost, reverted.error().message};
  return {};
}

void FirmwareMedium::discard(Slot) {}

Result<void> FirmwareMedium::restore(std::optional<Slot>) { return {}; }

}  // namespace berth::runtime
