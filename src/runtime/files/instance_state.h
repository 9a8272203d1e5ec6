#pragma once

#include <filesystem>
#include <string>

#include "model/instance.h"
#include "runtime/files/instance_directories.h"

namespace berth::runtime {

// Where an instance keeps what it has stored, and its state.
std::filesystem::path storage_directory(const std::filesystem::path& state_dir,
                                        const model::InstanceKey& key);
std::filesystem::path state_directory(const std::filesystem::path& state_dir,
                                      const model::InstanceKey& key);

// The name of the state that was last put in the place of what is there; "": none was.
std::string taken_state(const std::filesystem::path& state_dir, const model::InstanceKey& key);

// Puts the state in the place of what is in the instance's state directory, unless that has come
// from it already. What was there and is too large to be kept anywhere else is set aside. All of it
// or nothing; the instance must not run. The content must be what its digest says: that is for the
// caller to know.
Started<void> take_state(const MachineConfig& config, const model::InstanceSpec& spec,
                         const model::SavedState& state);

}  // namespace berth::runtime
