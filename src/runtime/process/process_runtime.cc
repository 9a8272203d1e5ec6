#include "runtime/process/process_runtime.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "runtime/container/cgroup.h"
#include "runtime/files/instance_directories.h"
#include "runtime/files/leftovers.h"
#include "runtime/probing/platform.h"
#include "runtime/problem.h"
#include "runtime/process/process_table.h"
#include "runtime/supervision/exec_session.h"
#include "runtime/supervision/run_consumption.h"

namespace berth::runtime {
namespace {

constexpr std::uint64_t kProcessOpenFiles = 65'536;
constexpr int kLooksMax = 20;  // at processes that multiply faster than they are stopped

const model::CommandImage* command_of(const model::InstanceSpec& spec) {
  if (spec.image >= spec.item.images.size()) return nullptr;
  const auto* image = std::get_if<model::CommandImage>(&spec.item.images[spec.image].form);
  return image != nullptr && !image->argv.empty() ? image : nullptr;
}

std::uint64_t data_limit_of(const model::Item& item) {
  if (item.skip_resource_limits || !item.quotas.ram) return 0;
  return static_cast<std::uint64_t>(std::max(std::int64_t{0}, item.quotas.ram->count()));
}

}  // namespace

ProcessRuntime::ProcessRuntime(MachineConfig config, model::RuntimeId id, RunListener& listener)
    : config_(std::move(config)),
      described_{.id = std::move(id),
                 .type = model::RuntimeType::Process,
                 .platform = platform_of_machine(),
                 .ready = model::Readiness::Unknown,
                 .message = "not probed yet"},
      supervisor_({{described_.id, model::RuntimeType::Process},
                   config_.state_dir,
                   config_.shim,
                   config_.tag},
                  listener) {}

ProcessRuntime::~ProcessRuntime() {
  if (config_.has_cpu_limits) remove_cgroups_of(config_.tag, config_.agent_id);
}

ProbeResult ProcessRuntime::probe(Duration) { return compute_result(why_no_runs(config_)); }

Started<void> ProcessRuntime::start(const model::InstanceSpec& spec, const model::RunId& run) {
  return supervisor_.start({.key = spec.key,
                            .run = run,
                            .type = spec.item.type,
                            .version = spec.item.version,
                            .spec = spec},
                           [&](const RunDirectory&) { return prepare(spec, run); });
}

Started<shim::Launch> ProcessRuntime::prepare(const model::InstanceSpec& spec,
                                              const model::RunId& run) const {
  const model::CommandImage* image = command_of(spec);
  if (image == nullptr) {
    return tl::unexpected(model::Problem{"ImageInvalid", "the image is no command"});
  }
  const auto directories = make_instance_directories(config_, spec);
  if (!directories) return tl::unexpected(directories.error());
  std::map<std::string, std::string> variables = variables_of(spec, config_.agent_id);
  variables.try_emplace("PATH", kUsualPath);
  variables["BERTH_STORAGE"] = directories->storage.string();
  variables["BERTH_STATE"] = directories->state.string();
  if (!spec.session_socket.empty()) variables[kSessionSocketVariable] = spec.session_socket;
  variables[kRunVariable] = mark_of(config_.tag, spec.key, run);
  shim::Launch launch{.argv = image->argv,
                      .env = to_environment(variables),
                      .directory = directories->storage.string(),
                      .user = user_of(spec),
                      .open_files = kProcessOpenFiles,
                      .data_bytes = data_limit_of(spec.item),
                      .log_directory = directories->logs.string(),
                      .log_bytes = config_.logs.bytes,
                      .log_files = config_.logs.files};
  launch.argv.insert(launch.argv.end(), spec.item.args.begin(), spec.item.args.end());
  if (const auto limited = limit_cpu(spec, run, launch); !limited) {
    return tl::unexpected(limited.error());
  }
  return launch;
}

// Memory is limited for each process by itself.
Started<void> ProcessRuntime::limit_cpu(const model::InstanceSpec& spec, const model::RunId& run,
                                        shim::Launch& launch) const {
  ContainerLimits limits = limits_of(spec.item, config_.dmips_per_core);
  limits.memory_bytes.reset();
  if (!config_.has_cpu_limits || !limits.cpu_quota_us) return {};
  const auto limited = limit_run(config_.tag, spec.key, run, limits, launch);
  if (limited) return {};
  return tl::unexpected(model::Problem{
      "LimitsFailed", limited.error().message + " (skipResourceLimits does without)"});
}

void ProcessRuntime::stop(const model::InstanceKey& key, const model::RunId& run, Duration grace) {
  supervisor_.stop(key, run, grace);
}

void ProcessRuntime::forget(const model::InstanceKey& key, const model::RunId& run) {
  supervisor_.forget(key, run);
}

// The mark comes first: one that may stand still is resumed with all that it has started.
Result<void> ProcessRuntime::pause(const model::InstanceKey& key) {
  const auto run = supervisor_.find(key);
  if (!run || run->program <= 1) return not_running(key);
  TRY(run->directory.write(shim::kPausedFile, ""));
  return signal_all(*run, SIGSTOP);
}

Result<void> ProcessRuntime::resume(const model::InstanceKey& key) {
  const auto run = supervisor_.find(key);
  if (!run || run->program <= 1) return not_running(key);
  if (!run->directory.has(shim::kPausedFile)) return {};
  TRY(signal_all(*run, SIGCONT));
  run->directory.erase(shim::kPausedFile);
  return {};
}

// Wherever its processes went, they are below its shim; what they start meanwhile is found by the
// next look.
Result<void> ProcessRuntime::signal_all(const LiveRun& run, int number) {
  std::set<pid_t> told;
  for (int looks = 0; looks < kLooksMax; ++looks) {
    const std::size_t before = told.size();
    for (const pid_t pid : processes_below(run.shim, read_processes())) {
      if (told.insert(pid).second) ::kill(pid, number);
    }
    if (told.size() == before) break;
  }
  return told.empty() ? not_running(run.record.found.key) : Result<void>{};
}

std::map<model::InstanceKey, Consumption> ProcessRuntime::measure() {
  return consumption_of(supervisor_.live());
}

Result<std::unique_ptr<ExecSession>> ProcessRuntime::exec(const model::InstanceKey& key,
                                                          const ExecRequest& request,
                                                          ExecListener listener) {
  const auto run = supervisor_.find(key);
  const auto launch = run ? run->directory.launch() : std::nullopt;
  if (!launch) return not_running(key);
  return open_session({.program = {.argv = request.command,
                                   .env = launch->env,
                                   .directory = launch->directory,
                                   .user = launch->user}},
                      request, std::move(listener));
}

}  // namespace berth::runtime
