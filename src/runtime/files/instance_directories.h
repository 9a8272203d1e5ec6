#pragma once

#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/instance.h"
#include "runtime/runtimes.h"
#include "runtime/shim/launch.h"
#include "runtime/supervision/supervisor.h"

namespace berth::runtime {

// What an instance keeps over its runs.
struct InstanceDirectories {
  std::filesystem::path storage;
  std::filesystem::path state;
  std::filesystem::path logs;
};

// Makes those that are not there, for the instance's user only.
Started<InstanceDirectories> make_instance_directories(const MachineConfig& config,
                                                       const model::InstanceSpec& spec);

// One more state directory of the instance, at this path, as the usual one is made.
Started<void> make_state_directory(const MachineConfig& config, const model::InstanceSpec& spec,
                                   const std::filesystem::path& path);

// Takes away all that a deleted instance has left, so that its user can be somebody else. Gives up
// when told to: what is gone by then need not be erased the next time.
Result<void> erase_instance_directories(const std::filesystem::path& state_dir,
                                        const model::InstanceKey& key,
                                        const std::stop_token& leaving = {});

// The user to run as; nullopt if we are not root and cannot be anybody else.
std::optional<shim::User> user_of(const model::InstanceSpec& spec);

bool is_root();

// A name for the machine that an instance believes to be on.
std::string host_name_of(const model::InstanceKey& key);
// Why no run can be begun, whatever it runs: the shim, or where runs are kept. "": nothing is in
// the way.
std::string why_no_runs(const MachineConfig& config);

// The item's variables, and those that tell an instance who it is.
std::map<std::string, std::string> variables_of(const model::InstanceSpec& spec,
                                                const std::string& node);

std::vector<std::string> to_environment(const std::map<std::string, std::string>& variables);

// By which an app finds the session service of its node.
inline constexpr char kSessionSocketVariable[] = "BERTH_SESSION_SOCKET";

inline constexpr char kUsualPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

}  // namespace berth::runtime
