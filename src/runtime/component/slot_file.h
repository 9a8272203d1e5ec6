#pragma once

#include <filesystem>
#include <optional>

#include "base/result.h"
#include "runtime/component/slot_state.h"

// The file that says which slot is confirmed and how far an update has come: state.json in the
// directory of the slots. It is replaced as a whole, and survives a power cut.
namespace berth::runtime {

// nullopt: there is none yet.
Result<std::optional<SlotState>> load_slots(const std::filesystem::path& directory);

Result<void> save_slots(const std::filesystem::path& directory, const SlotState& state);

}  // namespace berth::runtime
