#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/item.h"
#include "runtime/shim/launch.h"

// A virtual machine as the command line of its emulator says it.
namespace berth::runtime {

enum class DiskFormat { Raw, Qcow2 };

struct DiskFile {
  std::filesystem::path path;
  DiskFormat format = DiskFormat::Raw;
};

struct Disk {
  std::string serial;  // by which the guest knows it
  DiskFile file;
  std::optional<DiskFile> base = {};  // what the file says nothing of is read from here
};

// The guest speaks at this address through the guest's device of its network namespace.
struct GuestNetwork {
  std::string mac;
  std::uint32_t mtu = 1500;
};

struct Machine {
  std::string name;
  bool is_accelerated = false;
  std::uint64_t time_stamp_khz = 0;  // of an emulated processor; 0: not known
  std::int64_t ram_mib = 128;
  std::int64_t processors = 1;
  std::optional<shim::User> user = {};  // to become, once everything is opened
  std::filesystem::path kernel;         // empty: the first disk is booted
  std::filesystem::path initrd;
  std::string cmdline;
  std::vector<Disk> disks;
  std::optional<GuestNetwork> network = {};  // none: it reaches what the machine reaches
  std::vector<std::uint16_t> ports = {};     // without: of 127.0.0.1, which are the guest's
  std::string ip = {};  // as the kernel's argument "ip=" has it; empty: the guest is told nothing
  // What the guest finds below opt/berth/: names, and the files with the content.
  std::vector<std::pair<std::string, std::filesystem::path>> given = {};
};

// All but the program. Its sockets are those of runtime/shim/launch.h, in its working directory;
// its console is its standard output.
std::vector<std::string> to_arguments(const Machine& machine);

// The address of a guest that has no network of its own, as "ip=" has it.
std::string ip_without_network(const std::string& host_name);

inline constexpr std::int64_t kDefaultRamMib = 128;

// What the item's quotas mean for a machine.
std::int64_t ram_mib_of(const model::Item& item);
std::int64_t processors_of(const model::Item& item, std::int64_t dmips_per_core);

}  // namespace berth::runtime
