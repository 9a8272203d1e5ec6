#pragma once

#include <filesystem>

#include "base/quantity.h"
#include "runtime/supervision/supervisor.h"
#include "runtime/vm/machine.h"

// The disks that a virtual machine writes to, as files in its storage. The emulator opens them
// before it becomes the instance's user: nobody else must be able to put another file in their
// place.
namespace berth::runtime {

// Makes the directory ours alone.
Started<void> take_storage(const std::filesystem::path& storage);

// What the guest writes over a disk image, which is never written to. It is kept for as long as the
// image is the same; `identity` tells images apart.
Started<Disk> overlay_on(const std::filesystem::path& image, const std::string& identity,
                         const std::filesystem::path& storage);

// An empty disk at first. It grows with the quota, and never shrinks.
Started<Disk> data_disk(const std::filesystem::path& storage, Bytes size);

}  // namespace berth::runtime
