#include "runtime/container/container_runtime.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "codec/json_parts.h"
#include "codec/json_reader.h"
#include "runtime/clock.h"
#include "runtime/container/bundle.h"
#include "runtime/container/cgroup.h"
#include "runtime/files/instance_directories.h"
#include "runtime/files/leftovers.h"
#include "runtime/files/memory_directory.h"
#include "runtime/probing/platform.h"
#include "runtime/problem.h"
#include "runtime/shim/files.h"
#include "runtime/shim/oci.h"
#include "runtime/supervision/command.h"
#include "runtime/supervision/exec_session.h"
#include "runtime/supervision/network_counters.h"

namespace berth::runtime {
namespace {

constexpr Duration kOrderTime = 30s;

const model::OciImage* image_of(const model::InstanceSpec& spec) {
  if (spec.image >= spec.item.images.size()) return nullptr;
  return std::get_if<model::OciImage>(&spec.item.images[spec.image].form);
}

// The names that OCI runtimes take: no percent signs, no commas.
std::string plain(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '%' || c == ','; }, '+');
  return name;
}

// The program is only looked for, never run: any file that can be executed will do. It is shown
// from where it is: what is in memory may not be executed on many machines.
Result<void> make_probe_bundle(const std::filesystem::path& bundle,
                               const std::filesystem::path& program, const std::string& cgroup) {
  const std::filesystem::path rootfs = bundle / "rootfs";
  std::error_code error;
  std::filesystem::create_directories(rootfs, error);
  const std::string config = to_oci_config({.rootfs = rootfs,
                                            .args = {"/program"},
                                            .user = {65534, 65534},
                                            .hostname = "probe",
                                            .cgroup = cgroup,
                                            .mounts = {{program, "/program", true}}});
  const auto write = [](const std::filesystem::path& file, std::string_view content) {
    return shim::write_file(AT_FDCWD, file.c_str(), content, shim::Durable::No);
  };
  if (!error && write(rootfs / "program", "") && write(bundle / "config.json", config)) return {};
  return Error{Code::Unavailable, fmt::format("cannot make {}", bundle.string())};
}

std::string said_by(const std::string& program, const CommandOutcome& outcome) {
  const std::string sentence = shim::sentence_of(outcome.output);
  return sentence.empty() ? fmt::format("{} ended with {}", program, outcome.code) : sentence;
}

// What programs expect to find about the machine whose network they share.
void add_files_of_machine(std::vector<Mount>& mounts) {
  for (const char* file : {"/etc/hosts", "/etc/resolv.conf"}) {
    if (::access(file, R_OK) == 0) mounts.push_back({file, file, true});
  }
}

const std::filesystem::path kSessionDirectory = "/run/berth";  // inside

// Its directory is mounted, not the socket itself: the next life of the agent makes another one.
void add_session_socket(const model::InstanceSpec& spec, std::vector<Mount>& mounts) {
  if (spec.session_socket.empty()) return;
  const std::filesystem::path socket = spec.session_socket;
  mounts.push_back({socket.parent_path(), kSessionDirectory.string(), true});
}

std::string resolver_text(model::Ipv4 name_server) {
  return "nameserver " + to_string(name_server) + "\n";
}

std::string hosts_text(model::Ipv4 address, const std::string& hostname) {
  return fmt::format("127.0.0.1 localhost\n{} {}\n", to_string(address), hostname);
}

}  // namespace

ContainerRuntime::ContainerRuntime(MachineConfig config, const RuntimeSpec& spec,
                                   RunListener& listener)
    : config_(std::move(config)),
      described_{.id = spec.id,
                 .type = spec.type,
                 .platform = platform_of_machine(),
                 .ready = model::Readiness::Unknown,
                 .message = "not probed yet"},
      program_(spec.program.empty() ? std::string(model::to_string(spec.type)) : spec.program),
      images_({.directory = image_directory(config_.state_dir),
               .layout_dir = config_.image_dir,
               .owner = spec.id.value(),
               .interrupt = leaving_.fd()}),
      supervisor_({spec, config_.state_dir, config_.shim, config_.tag}, listener) {}

ContainerRuntime::~ContainerRuntime() { remove_cgroups_of(config_.tag, config_.agent_id); }

// --- Readiness -----------------------------------------------------------------------------------

// The network comes first: a try that hangs for good shall touch nothing that may be gone by then.
ProbeResult ContainerRuntime::probe(Duration deadline) {
  const std::lock_guard one_at_a_time(probe_mutex_);
  const Time until = now() + deadline;
  const auto network =
      network_result(config_.networks != nullptr ? config_.networks->why_not_ready() : "");
  return together(probe_compute(until, deadline), network);
}

ProbeResult ContainerRuntime::probe_compute(Time until, Duration deadline) {
  const std::string program = find_program(program_);
  const std::string why = why_unusable(program);
  if (!why.empty()) {
    trial_.forget();
    return compute_result(why);
  }
  const std::string identity = identity_of(program) + identity_of(config_.shim);
  if (must_try_again_.exchange(false)) trial_.reconsider();
  if (trial_.is_due(now(), identity)) {
    ProbeResult result = try_it(program, until, deadline);
    trial_.done(now(), identity, std::move(result));
  }
  return trial_.result();
}

// Costs some calls of the system, and no process.
std::string ContainerRuntime::why_unusable(const std::string& program) const {
  if (!is_root()) {
    return fmt::format("containers need root; the agent runs as user {}", ::geteuid());
  }
  if (program.empty()) return program_ + " is not installed";
  if (find_program("umoci").empty()) return "umoci is not installed: no image can be unpacked";
  if (const std::string why = why_no_cgroups(); !why.empty()) return why;
  return why_no_runs(config_);
}

// Tried again and again while it fails: nothing of it may reach the disk.
ProbeResult ContainerRuntime::try_it(const std::string& program, Time until,
                                     Duration deadline) const {
  const auto memory = memory_directory(config_.tag);
  if (!memory) return probe_failed(memory.error().message);
  const std::filesystem::path directory = *memory / probe_container();
  const auto bundle = make_probe_bundle(directory, config_.shim, cgroup_of(probe_container()));
  const auto worked = bundle ? make_and_remove(program, directory, until) : bundle;
  // What was killed in the middle of its work has not cleaned up.
  if (!worked) clear_cgroup(cgroup_of(probe_container()));
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  std::filesystem::remove(*memory, ignored);  // if nothing else is there
  if (!bundle) return probe_failed(bundle.error().message);
  if (worked) return {};
  if (leaving_.is_raised()) return probe_failed("the agent is about to end");
  const bool is_late = worked.error().code == Code::Unavailable;
  return is_late ? probe_timed_out(deadline) : compute_result(worked.error().message);
}

// Unavailable: it was not done by then. Otherwise the message is the program's own.
Result<void> ContainerRuntime::make_and_remove(const std::string& program,
                                               const std::filesystem::path& directory,
                                               Time until) const {
  const std::string root = (directory / "root").string();
  const auto run = [&](std::vector<std::string> arguments) -> Result<void> {
    arguments.insert(arguments.begin(), {program, "--root", root});
    const CommandOutcome outcome =
        TRY(run_command(arguments, CommandLimits{.deadline = std::max(until - now(), Duration{}),
                                                 .interrupt = leaving_.fd(),
                                                 .dies_with_us = true}));
    if (outcome.code == 0) return {};
    return invalid_input(said_by(program, outcome));
  };
  const std::string container = probe_container();
  TRY(run({"create", "--bundle", directory.string(), container}));
  kill_cgroup(cgroup_of(container));  // of one that lives, the program would wait for the end
  return run({"delete", "--force", container});
}

// --- Runs ----------------------------------------------------------------------------------------

Result<std::vector<model::FoundRun>> ContainerRuntime::list() {
  auto found = supervisor_.list();
  if (found && !has_removed_strays_.exchange(true)) remove_strays();
  return found;
}

// An agent and a shim that were killed in the middle of a start can leave a container that nobody
// would ever stop.
void ContainerRuntime::remove_strays() const {
  std::set<std::string> known;
  for (const RunDirectory& directory : RunDirectory::all(config_.state_dir)) {
    const auto record = directory.record();
    if (record) known.insert(container_name(record->found.key, record->found.run));
  }
  std::error_code error;
  const std::filesystem::directory_iterator containers(launch_of("").oci_root, error);
  for (const auto& entry : containers) {
    shim::Launch stray = launch_of(entry.path().filename().string());
    stray.oci_runtime = find_program(program_);
    const bool can_be_removed = entry.is_directory(error) && !stray.oci_runtime.empty();
    if (can_be_removed && !known.contains(stray.container)) {
      static_cast<void>(shim::oci_delete(stray));
    }
  }
}

bool ContainerRuntime::is_prepared(const model::InstanceSpec& spec) {
  const model::OciImage* image = image_of(spec);
  return image == nullptr || images_.find(image->reference);
}

Started<void> ContainerRuntime::prepare(const model::InstanceSpec& spec) {
  const model::OciImage* image = image_of(spec);
  if (image == nullptr) return {};
  const auto fetched = images_.get(image->reference);
  if (!fetched) return tl::unexpected(fetched.error());
  return {};
}

Started<void> ContainerRuntime::start(const model::InstanceSpec& spec, const model::RunId& run) {
  reconsider();  // somebody counts on it
  auto started = supervisor_.start(
      {.key = spec.key,
       .run = run,
       .type = spec.item.type,
       .version = spec.item.version,
       .spec = spec},
      [&](const RunDirectory& directory) { return make_launch(spec, run, directory); });
  if (!started && config_.networks != nullptr) config_.networks->release(spec.key, run);
  return started;
}

Started<shim::Launch> ContainerRuntime::make_launch(const model::InstanceSpec& spec,
                                                    const model::RunId& run,
                                                    const RunDirectory& directory) {
  const model::OciImage* reference = image_of(spec);
  if (reference == nullptr) return problem("ImageInvalid", "the image is no OCI image");
  const std::string program = find_program(program_);
  if (program.empty()) return problem("RuntimeMissing", program_ + " is not installed");
  const auto image = images_.get(reference->reference);
  if (!image) return tl::unexpected(image.error());
  const auto directories = make_instance_directories(config_, spec);
  if (!directories) return tl::unexpected(directories.error());

  shim::Launch launch = launch_of(container_name(spec.key, run));
  launch.oci_runtime = program;
  launch.bundle = directory.path().string();
  launch.log_directory = directories->logs.string();
  launch.log_bytes = config_.logs.bytes;
  launch.log_files = config_.logs.files;

  std::map<std::string, std::string> variables = variables_of(spec, config_.agent_id);
  variables["BERTH_STORAGE"] = "/storage";
  variables["BERTH_STATE"] = "/state";
  if (!spec.session_socket.empty()) {
    const std::filesystem::path socket = spec.session_socket;
    variables[kSessionSocketVariable] = kSessionDirectory / socket.filename();
  }
  variables.insert(image->env.begin(), image->env.end());
  variables.try_emplace("PATH", kUsualPath);
  Container container{
      .rootfs = image->rootfs,
      .args = image->args,
      .env = to_environment(variables),
      .directory = image->directory,
      .user = {spec.uid, spec.gid},
      .hostname = host_name_of(spec.key),
      .cgroup = cgroup_of(launch.container),
      .mounts = {{directories->storage, "/storage"}, {directories->state, "/state"}},
      .limits = limits_of(spec.item, config_.dmips_per_core)};
  add_session_socket(spec, container.mounts);
  container.args.insert(container.args.end(), spec.item.args.begin(), spec.item.args.end());
  if (container.args.empty()) return problem("ImageInvalid", "the image does not say what to run");
  if (const auto joined = join_network(spec, run, directory, container); !joined) {
    return tl::unexpected(joined.error());
  }
  if (const auto written = directory.write("config.json", to_oci_config(container)); !written) {
    return problem("StorageFailed", written.error().message);
  }
  return launch;
}

Started<void> ContainerRuntime::join_network(const model::InstanceSpec& spec,
                                             const model::RunId& run, const RunDirectory& directory,
                                             Container& container) {
  if (!spec.network) {
    add_files_of_machine(container.mounts);
    return {};
  }
  if (config_.networks == nullptr) {
    return problem("NetworkFailed",
                   "this node has no networks for instances; `berth describe node` says why");
  }
  const auto joined = config_.networks->attach(spec.key, run, *spec.network);
  if (!joined) return tl::unexpected(joined.error());
  container.network_namespace = joined->network_namespace;
  const std::pair<const char*, std::string> files[] = {
      {"resolv.conf", resolver_text(joined->name_server)},
      {"hosts", hosts_text(joined->address, container.hostname)}};
  for (const auto& [name, content] : files) {
    const std::filesystem::path path = directory.path() / name;
    if (!directory.write(name, content) || ::chmod(path.c_str(), 0644) != 0) {
      return problem("StorageFailed", "cannot write " + path.string());
    }
    container.mounts.push_back({path, std::string("/etc/") + name, true});
  }
  return {};
}

shim::Launch ContainerRuntime::launch_of(const std::string& container) const {
  return {.oci_root = (config_.state_dir / "oci" / described_.id.value()).string(),
          .container = container,
          .oom_files = oom_files_of(cgroup_of(container))};
}

void ContainerRuntime::stop(const model::InstanceKey& key, const model::RunId& run,
                            Duration grace) {
  supervisor_.stop(key, run, grace);
}

void ContainerRuntime::forget(const model::InstanceKey& key, const model::RunId& run) {
  supervisor_.forget(key, run);
  if (config_.networks != nullptr) config_.networks->release(key, run);
}

// The mark comes first: who stops a container that has it lets it go on, to hear of its end.
Result<void> ContainerRuntime::pause(const model::InstanceKey& key) {
  const auto run = supervisor_.find(key);
  if (!run) return not_running(key);
  TRY(run->directory.write(shim::kPausedFile, ""));
  const auto paused = order(key, "pause");
  return paused || state_of(key) != "paused" ? paused : Result<void>{};
}

Result<void> ContainerRuntime::resume(const model::InstanceKey& key) {
  const auto run = supervisor_.find(key);
  if (!run) return not_running(key);
  if (!run->directory.has(shim::kPausedFile)) return {};
  const auto resumed = order(key, "resume");
  if (!resumed && state_of(key) != "running") return resumed;
  run->directory.erase(shim::kPausedFile);
  return {};
}

// By the word of the runtime's program: an order may come twice, or have been interrupted.
std::string ContainerRuntime::state_of(const model::InstanceKey& key) {
  const auto run = supervisor_.find(key);
  const auto launch = run ? run->directory.launch() : std::nullopt;
  if (!launch) return "";
  const auto outcome = run_command(
      {launch->oci_runtime, "--root", launch->oci_root, "state", launch->container}, kOrderTime);
  if (!outcome || outcome->code != 0) return "";
  const auto tree = codec::read_json(outcome->output);
  return tree ? codec::json::text_at(*tree, {"status"}) : "";
}

Result<void> ContainerRuntime::order(const model::InstanceKey& key, const std::string& verb) {
  const auto run = supervisor_.find(key);
  const auto launch = run ? run->directory.launch() : std::nullopt;
  if (!launch) return not_running(key);
  const CommandOutcome outcome = TRY(run_command(
      {launch->oci_runtime, "--root", launch->oci_root, verb, launch->container}, kOrderTime));
  if (outcome.code == 0) return {};
  return Error{Code::Unavailable, shim::sentence_of(outcome.output)};
}

std::map<model::InstanceKey, Consumption> ContainerRuntime::measure() {
  std::map<model::InstanceKey, Consumption> measured;
  for (const LiveRun& run : supervisor_.live()) {
    const model::FoundRun& found = run.record.found;
    const auto used = consumption_of(cgroup_of(run.record));
    if (!used) continue;
    Consumption& sum = measured[found.key];
    sum.cpu_time += used->cpu_time;
    sum.ram += used->ram;
    const auto network = count_network_of(run.program);
    if (!network) continue;
    sum.received += network->received;
    sum.sent += network->sent;
  }
  return measured;
}

Result<std::unique_ptr<ExecSession>> ContainerRuntime::exec(const model::InstanceKey& key,
                                                            const ExecRequest& request,
                                                            ExecListener listener) {
  if (request.command.empty()) return invalid_input("there is no command");
  const auto run = supervisor_.find(key);
  const auto launch = run ? run->directory.launch() : std::nullopt;
  if (!launch) return not_running(key);
  const std::uint64_t number = ++next_exec_;
  const std::string pid_file =
      (run->directory.path() / fmt::format("exec-{}-{}", ::getpid(), number)).string();
  std::vector<std::string> argv{launch->oci_runtime, "--root", launch->oci_root, "exec",
                                "--pid-file",        pid_file};
  if (request.terminal) argv.emplace_back("--tty");
  argv.push_back(launch->container);
  argv.insert(argv.end(), request.command.begin(), request.command.end());
  return open_session({.program = {.argv = argv, .env = shim::own_environment()},
                       .inner_pid_file = pid_file,
                       .has_inner_terminal = request.terminal},
                      request, std::move(listener));
}

// --- Names ---------------------------------------------------------------------------------------

std::string ContainerRuntime::container_name(const model::InstanceKey& key,
                                             const model::RunId& run) const {
  return fmt::format("{}.{}", plain(file_name_of(key)), file_name_of(run));
}

std::string ContainerRuntime::cgroup_of(const std::string& container) const {
  return cgroup_of_agent(config_.tag) + "/" + container;
}

// What an earlier release has started stays where it is.
std::string ContainerRuntime::cgroup_of(const RunRecord& record) const {
  const std::string group =
      record.tag.empty() ? cgroup_of_node(config_.agent_id) : cgroup_of_agent(record.tag);
  return group + "/" + container_name(record.found.key, record.found.run);
}

std::string ContainerRuntime::probe_container() const {
  return fmt::format("probe-{}-{}", described_.id.value(), ::getpid());
}

}  // namespace berth::runtime
