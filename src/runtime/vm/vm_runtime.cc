#include "runtime/vm/vm_runtime.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <set>
#include <utility>

#include "runtime/clock.h"
#include "runtime/component/source.h"
#include "runtime/container/bundle.h"
#include "runtime/container/cgroup.h"
#include "runtime/files/instance_directories.h"
#include "runtime/files/leftovers.h"
#include "runtime/files/memory_directory.h"
#include "runtime/probing/platform.h"
#include "runtime/problem.h"
#include "runtime/supervision/command.h"
#include "runtime/supervision/network_counters.h"
#include "runtime/supervision/run_consumption.h"
#include "runtime/vm/disk_files.h"
#include "runtime/vm/qmp.h"

namespace berth::runtime {
namespace {

constexpr char kArchitecture[] = "amd64";
constexpr Duration kDigestTime = 10min;
// What an emulator needs beside the memory of its guest: itself, and the code that it translates.
constexpr std::int64_t kOverheadBytes = 192 << 20;

const model::VmImage* vm_image_of(const model::InstanceSpec& spec) {
  if (spec.image >= spec.item.images.size()) return nullptr;
  return std::get_if<model::VmImage>(&spec.item.images[spec.image].form);
}

// What can never become healthy is better not started.
std::string flaw_of_health_check(const model::InstanceSpec& spec) {
  if (!spec.item.health) return "";
  if (std::holds_alternative<model::ExecCheck>(spec.item.health->probe)) {
    return "no program can be run inside of a virtual machine: check its health by tcp or http";
  }
  return spec.network ? "" : "its health cannot be checked: it has no network of its own here";
}

std::string ended_by_nul(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out.append(text).push_back('\0');
  return out;
}

std::string netmask_of(std::uint8_t prefix) {
  return to_string(model::Ipv4{prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix)});
}

// ADDRESS::GATEWAY:NETMASK:NAME:DEVICE:off:NAME SERVER
std::string ip_argument(const JoinedNetwork& joined, const std::string& host_name) {
  const std::string router = to_string(joined.name_server);
  return fmt::format("{}::{}:{}:{}:eth0:off:{}", to_string(joined.address), router,
                     netmask_of(joined.prefix), host_name, router);
}

// Of a pool instance: where its node expects it to listen.
std::vector<std::uint16_t> ports_of_machine(const model::Item& item) {
  std::set<std::uint16_t> ports;
  for (const model::Port& port : item.ports) {
    const auto at = item.env.find(fmt::format("BERTH_PORT_{}", port.number));
    if (at == item.env.end()) continue;
    std::uint16_t number = 0;
    const char* end = at->second.data() + at->second.size();
    const auto read = std::from_chars(at->second.data(), end, number);
    if (read.ec == std::errc() && read.ptr == end && number > 0) ports.insert(number);
  }
  return {ports.begin(), ports.end()};
}

}  // namespace

VmRuntime::VmRuntime(MachineConfig config, const RuntimeSpec& spec, RunListener& listener)
    : config_(std::move(config)),
      described_{.id = spec.id,
                 .type = model::RuntimeType::Vm,
                 .platform = platform_of_machine(),
                 .ready = model::Readiness::Unknown,
                 .message = "not probed yet"},
      program_(spec.program.empty() ? kEmulator : spec.program),
      supervisor_({spec, config_.state_dir, config_.shim, config_.tag}, listener) {}

VmRuntime::~VmRuntime() { remove_cgroups_of(config_.tag, config_.agent_id); }

// --- Readiness -----------------------------------------------------------------------------------

ProbeResult VmRuntime::probe(Duration) {
  const auto network =
      network_result(config_.networks != nullptr ? config_.networks->why_not_ready() : "");
  return together(probe_compute(), network);
}

ProbeResult VmRuntime::probe_compute() {
  const std::string architecture = platform_of_machine().arch;
  if (architecture != kArchitecture) {
    return compute_result(
        fmt::format("virtual machines are run on {} only, not on {}", kArchitecture, architecture));
  }
  if (std::string why = why_no_runs(config_); !why.empty()) return compute_result(std::move(why));
  const std::string program = find_program(program_);
  const std::lock_guard one_at_a_time(probe_mutex_);
  if (program.empty()) {
    trial_.forget();
    return compute_result(program_ + " is not installed (package qemu-system-x86)");
  }
  const std::string identity = identity_of(program) + why_no_kvm();
  if (must_try_again_.exchange(false)) trial_.reconsider();
  if (trial_.is_due(now(), identity)) trial_.done(now(), identity, try_it(program));
  return trial_.result();
}

ProbeResult VmRuntime::try_it(const std::string& program) {
  const auto directory = memory_directory(config_.tag);
  if (!directory) return probe_failed(directory.error().message);
  const auto guest = *directory / fmt::format("probe-{}", described_.id.value());
  const auto found = try_emulator(program, guest);
  std::error_code ignored;
  std::filesystem::remove(guest, ignored);
  std::filesystem::remove(*directory, ignored);  // if nothing else is there
  if (!found) return compute_result(found.error().message);
  const std::lock_guard lock(mutex_);
  emulator_ = *found;
  ProbeResult result;
  if (!found->is_accelerated) {
    result.message = "software emulation, slow: " + found->why_not_accelerated;
  }
  return result;
}

// --- Runs ----------------------------------------------------------------------------------------

Started<void> VmRuntime::start(const model::InstanceSpec& spec, const model::RunId& run) {
  reconsider();  // somebody counts on it
  auto started = supervisor_.start(
      {.key = spec.key,
       .run = run,
       .type = spec.item.type,
       .version = spec.item.version,
       .spec = spec},
      [&](const RunDirectory& directory) { return prepare(spec, run, directory); });
  if (!started && config_.networks != nullptr) config_.networks->release(spec.key, run);
  return started;
}

Started<shim::Launch> VmRuntime::prepare(const model::InstanceSpec& spec, const model::RunId& run,
                                         const RunDirectory& directory) {
  const model::VmImage* image = vm_image_of(spec);
  if (image == nullptr) return problem("ImageInvalid", "the image is no virtual machine");
  if (!spec.session_socket.empty()) {
    return problem("SessionServiceUnavailable",
                   "the app in a virtual machine cannot reach the session service of its node: "
                   "`sessions.service` of its application must be off");
  }
  // What tolerates a runtime that is not ready may come before the first probe has ended.
  const ProbeResult probed = probe_compute();
  if (probed.compute != model::Readiness::Ready) return problem("RuntimeMissing", probed.message);
  const Emulator emulated_by = [this] {
    const std::lock_guard lock(mutex_);
    return emulator_;
  }();
  const std::string flaw = flaw_of_health_check(spec);
  if (!flaw.empty()) return problem("HealthCheckInvalid", flaw);
  const auto directories = make_instance_directories(config_, spec);
  if (!directories) return tl::unexpected(directories.error());

  Machine machine{.name = to_string(spec.key),
                  .is_accelerated = emulated_by.is_accelerated,
                  .time_stamp_khz = time_stamp_khz(),
                  .ram_mib = ram_mib_of(spec.item),
                  .processors = processors_of(spec.item, config_.dmips_per_core),
                  .user = user_of(spec)};
  const std::string mark = fmt::format("{}={}", kRunVariable, mark_of(config_.tag, spec.key, run));
  shim::Launch launch{.argv = {emulated_by.program},
                      .env = {std::string("PATH=") + kUsualPath, mark},
                      .is_machine = true,
                      .log_directory = directories->logs.string(),
                      .log_bytes = config_.logs.bytes,
                      .log_files = config_.logs.files};
  Started<void> done = take_storage(directories->storage);
  if (done) done = add_image(*image, directories->storage, machine);
  if (done) done = add_storage(spec, directories->storage, machine);
  if (done) done = join_network(spec, run, machine, launch);
  if (done) done = give(spec, directory, machine);
  if (done) done = limit(spec, run, launch);
  if (!done) return tl::unexpected(done.error());
  const std::vector<std::string> arguments = to_arguments(machine);
  launch.argv.insert(launch.argv.end(), arguments.begin(), arguments.end());
  return launch;
}

// A file that has not changed is not read again to see that it is what it was.
Started<VmRuntime::ImageFile> VmRuntime::image_file(const std::string& reference) {
  const auto source = parse_source(reference, config_.image_dir);
  if (!source) return problem("ImageInvalid", source.error().message);
  if (!is_there(*source)) {
    return problem("ImageNotFound", fmt::format("there is no {}", source->path.string()));
  }
  if (!std::filesystem::is_regular_file(source->path)) {
    return problem("ImageInvalid", fmt::format("{} is no file", source->path.string()));
  }
  const std::string identity = identity_of(source->path.string());
  if (source->digest.empty()) return ImageFile{source->path, identity};
  {
    const std::lock_guard lock(mutex_);
    const auto known = verified_.find(identity);
    if (known != verified_.end() && known->second == source->digest) {
      return ImageFile{source->path, source->digest};
    }
  }
  const auto checked = check_digest(source->path, source->digest, {kDigestTime, leaving_});
  if (!checked) return tl::unexpected(checked.error());
  const std::lock_guard lock(mutex_);
  verified_[identity] = source->digest;
  return ImageFile{source->path, source->digest};
}

Started<void> VmRuntime::add_image(const model::VmImage& image,
                                   const std::filesystem::path& storage, Machine& machine) {
  if (image.kernel.empty() && image.disk.empty()) {
    return problem("ImageInvalid", "the image has neither a kernel nor a disk");
  }
  if (image.kernel.empty() && !(image.initrd.empty() && image.cmdline.empty())) {
    return problem("ImageInvalid", "the image has an initrd or a cmdline, and no kernel for it");
  }
  machine.cmdline = image.cmdline;
  for (const auto& [reference, path] :
       {std::pair(&image.kernel, &machine.kernel), std::pair(&image.initrd, &machine.initrd)}) {
    if (reference->empty()) continue;
    const auto file = image_file(*reference);
    if (!file) return tl::unexpected(file.error());
    *path = file->path;
  }
  if (image.disk.empty()) return {};
  const auto file = image_file(image.disk);
  if (!file) return tl::unexpected(file.error());
  const auto disk = overlay_on(file->path, file->identity, storage);
  if (!disk) return tl::unexpected(disk.error());
  machine.disks.push_back(*disk);
  return {};
}

Started<void> VmRuntime::add_storage(const model::InstanceSpec& spec,
                                     const std::filesystem::path& storage, Machine& machine) const {
  if (!spec.item.quotas.storage) return {};
  const auto disk = data_disk(storage, *spec.item.quotas.storage);
  if (!disk) return tl::unexpected(disk.error());
  machine.disks.push_back(*disk);
  return {};
}

Started<void> VmRuntime::join_network(const model::InstanceSpec& spec, const model::RunId& run,
                                      Machine& machine, shim::Launch& launch) {
  if (!spec.network) {
    machine.ports = ports_of_machine(spec.item);
    if (!machine.ports.empty()) machine.ip = ip_without_network(host_name_of(spec.key));
    return {};
  }
  if (config_.networks == nullptr) {
    return problem("NetworkFailed", "this node has no networks for instances; its log says why");
  }
  const auto joined = config_.networks->attach_guest(spec.key, run, *spec.network);
  if (!joined) return tl::unexpected(joined.error());
  launch.network_namespace = joined->network_namespace.string();
  machine.network = GuestNetwork{joined->mac, joined->mtu};
  machine.ip = ip_argument(*joined, host_name_of(spec.key));
  return {};
}

Started<void> VmRuntime::give(const model::InstanceSpec& spec, const RunDirectory& directory,
                              Machine& machine) const {
  std::vector<std::pair<std::string, std::string>> given{
      {"env", ended_by_nul(to_environment(variables_of(spec, config_.agent_id)))},
      {"args", ended_by_nul(spec.item.args)}};
  if (!machine.ip.empty()) given.emplace_back("ip", machine.ip);
  for (const auto& [name, content] : given) {
    if (const auto written = directory.write(name.c_str(), content); !written) {
      return problem("StorageFailed", written.error().message);
    }
    machine.given.emplace_back(name, directory.path() / name);
  }
  return {};
}

// The memory of the guest is what it is given; the group is there for what the emulator adds.
Started<void> VmRuntime::limit(const model::InstanceSpec& spec, const model::RunId& run,
                               shim::Launch& launch) const {
  ContainerLimits limits = limits_of(spec.item, config_.dmips_per_core);
  if (!is_root() || !(limits.cpu_quota_us || limits.memory_bytes)) return {};
  if (limits.memory_bytes) *limits.memory_bytes += kOverheadBytes;
  const auto limited = limit_run(config_.tag, spec.key, run, limits, launch);
  if (limited) return {};
  return problem("LimitsFailed", limited.error().message + " (skipResourceLimits does without)");
}

void VmRuntime::stop(const model::InstanceKey& key, const model::RunId& run, Duration grace) {
  supervisor_.stop(key, run, grace);
}

void VmRuntime::forget(const model::InstanceKey& key, const model::RunId& run) {
  supervisor_.forget(key, run);
  if (config_.networks != nullptr) config_.networks->release(key, run);
}

// The mark tells a next life of the agent.
Result<void> VmRuntime::pause(const model::InstanceKey& key) {
  const auto run = supervisor_.find(key);
  if (!run) return not_running(key);
  TRY(run->directory.write(shim::kPausedFile, ""));
  return order(*run, "stop");
}

Result<void> VmRuntime::resume(const model::InstanceKey& key) {
  const auto run = supervisor_.find(key);
  if (!run) return not_running(key);
  TRY(order(*run, "cont"));
  run->directory.erase(shim::kPausedFile);
  return {};
}

Result<void> VmRuntime::order(const LiveRun& run, const std::string& command) {
  Qmp emulator = TRY(Qmp::open(run.directory.path()));
  TRY(emulator.order(command));
  return {};
}

std::map<model::InstanceKey, Consumption> VmRuntime::measure() {
  const std::vector<LiveRun> runs = supervisor_.live();
  auto measured = consumption_of(runs);
  for (const LiveRun& run : runs) {
    const auto network = count_network_of(run.program, kInstanceDevice);
    if (!network) continue;
    measured[run.record.found.key].received += network->received;
    measured[run.record.found.key].sent += network->sent;
  }
  return measured;
}

Result<std::unique_ptr<ExecSession>> VmRuntime::exec(const model::InstanceKey& key,
                                                     const ExecRequest&, ExecListener) {
  if (!supervisor_.find(key)) return not_running(key);
  return invalid_input(fmt::format(
      "{} is a virtual machine: no program can be run inside of it. What it says on its "
      "console is its log; for a shell let it run a server of its own, such as ssh",
      to_string(key)));
}

}  // namespace berth::runtime
