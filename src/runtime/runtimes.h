#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/runtime.h"
#include "runtime/instance_networks.h"
#include "runtime/runtime.h"
#include "runtime/runtime_spec.h"

// The runtimes of this machine, and where they keep what outlives the agent.
namespace berth::runtime {

// How much of an instance's output is kept: `files` files of at most `bytes` each.
struct LogLimits {
  std::uint64_t bytes = 10 << 20;
  std::uint32_t files = 5;
};

// How components are installed: rootfs, boot, firmware.
struct ComponentConfig {
  // Below it a directory for each type; empty: components in the state directory.
  std::filesystem::path directory;
  // Says by ending with 0 that a version works whose item has no health check; it gets the type,
  // the version and, if it has one, the path of its slot. Empty: such a version is taken as it is.
  std::vector<std::string> confirm;
  Duration confirm_timeout = 2min;   // a version that is not confirmed by then is rolled back
  Duration install_timeout = 30min;  // of each step of an installation
};

// What is kept of images that nothing uses or wants; the rest goes, the longest unused first.
struct ImageLimits {
  Bytes unused_max = Bytes(std::int64_t{2} << 30);
  std::int64_t free_percent_min = 10;  // of the file system: with less free, nothing unused is kept
  Duration spared = 10min;             // one that was used so recently is about to be used again
};

struct MachineConfig {
  // Below it: runs/ logs/ storage/ state/ images/ oci/. It is made if it is not there; instances
  // run as users of their own must be able to pass through it (mode 0711).
  std::filesystem::path state_dir;
  std::string agent_id;                  // the name of this node
  std::string tag = {};                  // our own on this machine: other agents have other tags
  std::filesystem::path shim;            // the program berth-shim
  std::int64_t dmips_per_core = 10'000;  // what a whole core is, for limits on the processor
  std::filesystem::path image_dir;       // where relative references to OCI layouts begin
  LogLimits logs;
  ImageLimits images = {};
  ComponentConfig components;
  InstanceNetworks* networks = nullptr;  // none: no instance can have a network of its own
  bool has_quotas = false;               // the file system holds storage and state to their quotas
  bool has_cpu_limits = false;           // processes can be held to their quotas of the processor
};

// The program that runs virtual machines, if none is configured.
inline constexpr char kEmulator[] = "qemu-system-x86_64";

// nullptr: there is no runtime of this type here yet.
std::unique_ptr<Runtime> make_runtime(const MachineConfig& config, const RuntimeSpec& spec,
                                      RunListener& listener);

// Where the output of an instance is, over all its runs; see runtime/logs.h.
std::filesystem::path log_directory(const std::filesystem::path& state_dir,
                                    const model::InstanceKey& key);

}  // namespace berth::runtime
