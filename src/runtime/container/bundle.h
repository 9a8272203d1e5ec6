#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/instance.h"
#include "runtime/files/instance_directories.h"
#include "runtime/shim/launch.h"

// The config.json of a container.
namespace berth::runtime {

struct ContainerLimits {
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> cpu_quota_us;  // in each period of 100 ms
  std::int64_t processes = 1024;
};

struct Mount {
  std::filesystem::path source;
  std::string destination;
  bool read_only = false;
};

struct Container {
  std::filesystem::path rootfs;
  std::vector<std::string> args;
  std::vector<std::string> env;
  std::string directory = "/";
  shim::User user;
  std::string hostname;
  std::string cgroup;
  std::filesystem::path network_namespace;  // empty: that of the machine
  std::vector<Mount> mounts;
  ContainerLimits limits;
};

// A container that can do little beyond what its program needs: its root is read-only, it has no
// capability and gains none, system calls that no service needs are refused, and it sees no process
// but its own.
std::string to_oci_config(const Container& container);

// What the item's quotas mean here. A quota in DMIPS is a share of the machine's cores.
ContainerLimits limits_of(const model::Item& item, std::int64_t dmips_per_core);

}  // namespace berth::runtime
