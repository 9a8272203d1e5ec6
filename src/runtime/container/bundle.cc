#include "runtime/container/bundle.h"

#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <string_view>

#include "codec/json_parts.h"

namespace berth::runtime {
namespace {

using codec::json::list;
using codec::json::object;
using codec::json::text;
using codec::json::texts;

constexpr std::int64_t kCpuPeriodUs = 100'000;
constexpr std::int64_t kCpuQuotaUsMin = 1'000;  // the kernel takes no less
constexpr std::int64_t kMemoryMin = 6 << 20;    // below it no container can be set up
constexpr std::int64_t kOpenFiles = 65'536;

// No more than we may have ourselves: to go beyond that takes a capability that we may lack.
std::int64_t open_files() {
  rlimit own{};
  if (::getrlimit(RLIMIT_NOFILE, &own) != 0 || own.rlim_max == RLIM_INFINITY) return kOpenFiles;
  return std::min(kOpenFiles, static_cast<std::int64_t>(own.rlim_max));
}

std::string number(std::int64_t value) { return std::to_string(value); }

std::string mount(std::string_view destination, std::string_view type, std::string_view source,
                  const std::vector<std::string>& options) {
  return object({{"destination", text(destination)},
                 {"type", text(type)},
                 {"source", text(source)},
                 {"options", texts(options)}});
}

std::string bind(const Mount& what) {
  std::vector<std::string> options{"bind", "nosuid", "nodev"};
  options.emplace_back(what.read_only ? "ro" : "rw");
  return mount(what.destination, "bind", what.source.string(), options);
}

// Its user's own: the runtime gives it the mode of what it covers, whatever we say.
std::string scratch(std::string_view destination, const shim::User& user, std::string_view size) {
  return mount(destination, "tmpfs", "tmpfs",
               {"nosuid", "nodev", "mode=1777", "size=" + std::string(size),
                "uid=" + std::to_string(user.uid), "gid=" + std::to_string(user.gid)});
}

std::string mounts_of(const Container& container) {
  std::vector<std::string> mounts{
      mount("/proc", "proc", "proc", {"nosuid", "noexec", "nodev"}),
      mount("/dev", "tmpfs", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=65536k"}),
      mount("/dev/pts", "devpts", "devpts",
            {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}),
      mount("/dev/shm", "tmpfs", "shm", {"nosuid", "noexec", "nodev", "mode=1777", "size=65536k"}),
      mount("/dev/mqueue", "mqueue", "mqueue", {"nosuid", "noexec", "nodev"}),
      mount("/sys", "sysfs", "sysfs", {"nosuid", "noexec", "nodev", "ro"}),
      scratch("/tmp", container.user, "65536k"),
      scratch("/run", container.user, "16384k"),
  };
  for (const Mount& what : container.mounts) mounts.push_back(bind(what));
  return list(mounts);
}

std::string process_of(const Container& container) {
  const std::string none = object({{"bounding", "[]"},
                                   {"effective", "[]"},
                                   {"permitted", "[]"},
                                   {"inheritable", "[]"},
                                   {"ambient", "[]"}});
  const auto limit = [](std::string_view type, std::int64_t value) {
    return object({{"type", text(type)}, {"hard", number(value)}, {"soft", number(value)}});
  };
  return object(
      {{"terminal", "false"},
       {"user", object({{"uid", number(container.user.uid)}, {"gid", number(container.user.gid)}})},
       {"args", texts(container.args)},
       {"env", texts(container.env)},
       {"cwd", text(container.directory.empty() ? "/" : container.directory)},
       {"capabilities", none},
       {"rlimits", list({limit("RLIMIT_NOFILE", open_files()), limit("RLIMIT_CORE", 0)})},
       {"noNewPrivileges", "true"}});
}

std::string resources_of(const ContainerLimits& limits) {
  std::string memory;
  if (limits.memory_bytes) {
    // The same for swap: nothing of it may go there.
    memory =
        object({{"limit", number(*limits.memory_bytes)}, {"swap", number(*limits.memory_bytes)}});
  }
  std::string cpu;
  if (limits.cpu_quota_us) {
    cpu = object({{"quota", number(*limits.cpu_quota_us)}, {"period", number(kCpuPeriodUs)}});
  }
  return object({{"devices", list({object({{"allow", "false"}, {"access", text("rwm")}})})},
                 {"memory", memory},
                 {"cpu", cpu},
                 {"pids", object({{"limit", number(limits.processes)}})}});
}

std::string architectures() {
  utsname machine{};
  ::uname(&machine);
  const std::string_view name = machine.machine;
  if (name == "x86_64") return texts({"SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"});
  if (name == "aarch64") return texts({"SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"});
  return "";  // the machine's own
}

// What no service needs and attacks on kernels begin with. Those that a capability guards are here
// too: one fence more.
std::string seccomp() {
  const std::vector<std::string> refused{"acct",
                                         "add_key",
                                         "adjtimex",
                                         "bpf",
                                         "clock_adjtime",
                                         "clock_settime",
                                         "create_module",
                                         "delete_module",
                                         "finit_module",
                                         "fsconfig",
                                         "fsmount",
                                         "fsopen",
                                         "fspick",
                                         "get_kernel_syms",
                                         "init_module",
                                         "io_uring_enter",
                                         "io_uring_register",
                                         "io_uring_setup",
                                         "ioperm",
                                         "iopl",
                                         "kcmp",
                                         "kexec_file_load",
                                         "kexec_load",
                                         "keyctl",
                                         "lookup_dcookie",
                                         "mbind",
                                         "migrate_pages",
                                         "mount",
                                         "mount_setattr",
                                         "move_mount",
                                         "move_pages",
                                         "name_to_handle_at",
                                         "nfsservctl",
                                         "open_by_handle_at",
                                         "open_tree",
                                         "perf_event_open",
                                         "personality",
                                         "pivot_root",
                                         "process_madvise",
                                         "process_vm_readv",
                                         "process_vm_writev",
                                         "ptrace",
                                         "query_module",
                                         "quotactl",
                                         "quotactl_fd",
                                         "reboot",
                                         "request_key",
                                         "setns",
                                         "settimeofday",
                                         "stime",
                                         "swapoff",
                                         "swapon",
                                         "sysfs",
                                         "syslog",
                                         "umount",
                                         "umount2",
                                         "unshare",
                                         "uselib",
                                         "userfaultfd",
                                         "ustat",
                                         "vm86",
                                         "vm86old",
                                         "vhangup",
                                         "_sysctl"};
  constexpr std::int64_t kPermissionDenied = 1;
  constexpr std::int64_t kNoSuchCall = 38;
  constexpr std::int64_t kNewUserNamespace = 0x1000'0000;
  const auto rule = [](const std::vector<std::string>& names, std::int64_t error,
                       const std::string& args) {
    return object({{"names", texts(names)},
                   {"action", text("SCMP_ACT_ERRNO")},
                   {"errnoRet", number(error)},
                   {"args", args}});
  };
  const std::string in_new_user_namespace = list({object({{"index", "0"},
                                                          {"value", number(kNewUserNamespace)},
                                                          {"valueTwo", number(kNewUserNamespace)},
                                                          {"op", text("SCMP_CMP_MASKED_EQ")}})});
  // The flags of clone3 cannot be looked at: libraries go back to clone if there is none.
  return object({{"defaultAction", text("SCMP_ACT_ALLOW")},
                 {"architectures", architectures()},
                 {"syscalls", list({rule(refused, kPermissionDenied, ""),
                                    rule({"clone"}, kPermissionDenied, in_new_user_namespace),
                                    rule({"clone3"}, kNoSuchCall, "")})}});
}

std::string linux_of(const Container& container) {
  std::vector<std::string> namespaces;
  for (const char* type : {"pid", "ipc", "uts", "mount"}) {
    namespaces.push_back(object({{"type", text(type)}}));
  }
  if (!container.network_namespace.empty()) {
    namespaces.push_back(
        object({{"type", text("network")}, {"path", text(container.network_namespace.string())}}));
  }
  return object({{"cgroupsPath", text(container.cgroup)},
                 {"namespaces", list(namespaces)},
                 {"resources", resources_of(container.limits)},
                 {"seccomp", seccomp()},
                 {"maskedPaths", texts({"/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys",
                                        "/proc/latency_stats", "/proc/timer_list",
                                        "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi",
                                        "/sys/firmware", "/sys/devices/virtual/powercap"})},
                 {"readonlyPaths", texts({"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                          "/proc/sysrq-trigger"})}});
}

}  // namespace

std::string to_oci_config(const Container& container) {
  return object(
      {{"ociVersion", text("1.0.2")},
       {"process", process_of(container)},
       {"root", object({{"path", text(container.rootfs.string())}, {"readonly", "true"}})},
       {"hostname", text(container.hostname)},
       {"mounts", mounts_of(container)},
       {"linux", linux_of(container)}});
}

ContainerLimits limits_of(const model::Item& item, std::int64_t dmips_per_core) {
  ContainerLimits limits;
  if (item.skip_resource_limits) return limits;
  if (item.quotas.ram) limits.memory_bytes = std::max(item.quotas.ram->count(), kMemoryMin);
  if (item.quotas.cpu && dmips_per_core > 0) {
    const double cores =
        static_cast<double>(item.quotas.cpu->count()) / static_cast<double>(dmips_per_core);
    const double quota = std::clamp(cores * static_cast<double>(kCpuPeriodUs),
                                    static_cast<double>(kCpuQuotaUsMin), 1e9);
    limits.cpu_quota_us = static_cast<std::int64_t>(quota);
  }
  return limits;
}

}  // namespace berth::runtime
