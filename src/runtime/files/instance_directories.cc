#include "runtime/files/instance_directories.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "model/application.h"
#include "runtime/files/directory_tree.h"
#include "runtime/files/disk_quota.h"
#include "runtime/files/run_directory.h"
#include "runtime/shim/files.h"

namespace berth::runtime {
namespace {

Started<void> failed(const std::filesystem::path& path) {
  return tl::unexpected(model::Problem{
      .reason = "StorageFailed",
      .message = fmt::format("cannot make {}: {}", path.string(), std::strerror(errno))});
}

Started<void> make_directory(const std::filesystem::path& path, mode_t mode,
                             const std::optional<shim::User>& owner) {
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return failed(path);
  if (!owner) return {};
  const shim::Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.is_open() || ::fchown(directory.get(), owner->uid, owner->gid) != 0) {
    return failed(path);
  }
  return {};
}

// Each instance has a user id of its own, and two directories with a quota.
enum class Project : std::uint32_t { Storage = 0, State = 1 };

std::uint32_t project_of(const model::InstanceSpec& spec, Project which) {
  return 2 * spec.uid + static_cast<std::uint32_t>(which);
}

Started<void> limit(const MachineConfig& config, const std::filesystem::path& path,
                    const model::InstanceSpec& spec, Project which) {
  if (!config.has_quotas || spec.uid == 0) return {};
  const model::ResourceSpec& quotas = spec.item.quotas;
  std::optional<Bytes> most = which == Project::Storage ? quotas.storage : quotas.state;
  if (spec.item.skip_resource_limits) most.reset();
  const auto set = set_quota(path, project_of(spec, which), most);
  if (set) return {};
  return tl::unexpected(model::Problem{"StorageFailed", set.error().message});
}

}  // namespace

Started<void> make_state_directory(const MachineConfig& config, const model::InstanceSpec& spec,
                                   const std::filesystem::path& path) {
  const auto base = make_directory(path.parent_path(), 0711, {});
  if (!base) return base;
  const auto made = make_directory(path, 0700, user_of(spec));
  if (!made) return made;
  return limit(config, path, spec, Project::State);
}

std::string why_no_runs(const MachineConfig& config) {
  if (::access(config.shim.c_str(), X_OK) != 0) {
    return fmt::format("cannot run {}: {}", config.shim.string(), std::strerror(errno));
  }
  const std::filesystem::path runs = config.state_dir / "runs";
  if (::access(runs.c_str(), W_OK | X_OK) != 0) {
    return fmt::format("cannot write to {}: {}", runs.string(), std::strerror(errno));
  }
  return "";
}

bool is_root() { return ::geteuid() == 0; }

std::optional<shim::User> user_of(const model::InstanceSpec& spec) {
  if (!is_root()) return std::nullopt;
  return shim::User{spec.uid, spec.gid};
}

Started<InstanceDirectories> make_instance_directories(const MachineConfig& config,
                                                       const model::InstanceSpec& spec) {
  const std::string name = file_name_of(spec.key);
  const auto& base = config.state_dir;
  const InstanceDirectories directories{base / "storage" / name, base / "state" / name,
                                        base / "logs" / name};
  const auto owner = user_of(spec);
  struct Wanted {
    std::filesystem::path path;
    mode_t mode;
    std::optional<shim::User> owner;
  };
  // Passable, so that the instances' users come to what is theirs; the rest is for the agent.
  const Wanted all[] = {{base / "storage", 0711, {}},     {base / "state", 0711, {}},
                        {base / "logs", 0700, {}},        {directories.storage, 0700, owner},
                        {directories.state, 0700, owner}, {directories.logs, 0700, {}}};
  for (const Wanted& wanted : all) {
    const auto made = make_directory(wanted.path, wanted.mode, wanted.owner);
    if (!made) return tl::unexpected(made.error());
  }
  for (const auto& [path, which] : {std::pair(directories.storage, Project::Storage),
                                    std::pair(directories.state, Project::State)}) {
    const auto limited = limit(config, path, spec, which);
    if (!limited) return tl::unexpected(limited.error());
  }
  return directories;
}

Result<void> erase_instance_directories(const std::filesystem::path& state_dir,
                                        const model::InstanceKey& key,
                                        const std::stop_token& leaving) {
  const std::string name = file_name_of(key);
  const auto state = state_dir / "state";
  for (const auto& path :
       {state_dir / "storage" / name, state / name, state / (name + ".new"),
        state / (name + ".replaced"), state / (name + ".generation"), state_dir / "logs" / name}) {
    const auto removed = remove_tree(path, leaving);
    if (!removed) {
      return Error{Code::Unavailable, fmt::format("cannot erase {}", removed.error().message)};
    }
  }
  return {};
}

std::string host_name_of(const model::InstanceKey& key) {
  const bool is_of_pool = model::is_pool_instance(key);
  std::string name =
      fmt::format("{}-{}", is_of_pool ? key.subject.value() : key.item.value(), key.index);
  for (char& c : name) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
    if (!fits) c = '-';
  }
  return name.substr(name.size() > 63 ? name.size() - 63 : 0);
}

std::map<std::string, std::string> variables_of(const model::InstanceSpec& spec,
                                                const std::string& node) {
  std::map<std::string, std::string> variables = spec.item.env;
  variables["BERTH_ITEM"] = spec.key.item.value();
  variables["BERTH_SUBJECT"] = spec.key.subject.value();
  variables["BERTH_INSTANCE"] = std::to_string(spec.key.index);
  variables["BERTH_NODE"] = node;
  return variables;
}

std::vector<std::string> to_environment(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

}  // namespace berth::runtime
