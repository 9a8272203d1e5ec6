#include "runtime/vm/machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/instance_networks.h"

namespace berth::runtime {
namespace {

constexpr std::int64_t kMib = 1 << 20;
constexpr std::int64_t kProcessorsMax = 255;
constexpr int kTranslationMib = 64;  // of translated code that an emulator keeps

using Arguments = std::vector<std::string>;

// A comma in a value is written twice.
std::string escaped(const std::string& value) {
  std::string out;
  for (const char c : value) out.append(c == ',' ? 2 : 1, c);
  return out;
}

std::string name_of(DiskFormat format) { return format == DiskFormat::Raw ? "raw" : "qcow2"; }

bool is_small(const Machine& machine) { return !machine.kernel.empty(); }

// The small machine has no PCI.
std::string device(const Machine& machine, const std::string& kind) {
  return kind + (is_small(machine) ? "-device" : "-pci");
}

void add(Arguments& to, Arguments more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// Nothing that is not asked for; a guest that restarts itself has ended. What the emulator could be
// tricked into by its guest is forbidden to it, short of becoming the instance's user.
Arguments frame_of(const Machine& machine) {
  Arguments arguments{"-name",
                      escaped(machine.name),
                      "-machine",
                      is_small(machine) ? "microvm,acpi=on" : "q35",
                      "-m",
                      fmt::format("{}M", machine.ram_mib),
                      "-smp",
                      std::to_string(machine.processors),
                      "-nodefaults",
                      "-no-user-config",
                      "-no-reboot",
                      "-display",
                      "none",
                      "-vga",
                      "none",
                      "-sandbox",
                      "on,spawn=deny,resourcecontrol=deny"};
  add(arguments,
      machine.is_accelerated
          ? Arguments{"-accel", "kvm", "-cpu", "host"}
          : Arguments{"-accel", fmt::format("tcg,tb-size={}", kTranslationMib), "-cpu", "max"});
  if (machine.user) {
    add(arguments, {"-runas", fmt::format("{}:{}", machine.user->uid, machine.user->gid)});
  }
  return arguments;
}

// Ours come first: the last word is the image's. A kernel that panics ends the machine. The small
// machine has no clock to compare an emulated processor's with, so that the kernel must be told.
std::string cmdline_of(const Machine& machine) {
  std::string line = "console=ttyS0 panic=-1 reboot=t";
  if (!machine.is_accelerated && machine.time_stamp_khz > 0) {
    line += fmt::format(" tsc_early_khz={}", machine.time_stamp_khz);
  }
  if (!machine.ip.empty()) line += " ip=" + machine.ip;
  if (!machine.cmdline.empty()) line += " " + machine.cmdline;
  return line;
}

Arguments kernel_of(const Machine& machine) {
  if (machine.kernel.empty()) return {};
  Arguments arguments{"-kernel", machine.kernel.string(), "-append", cmdline_of(machine)};
  if (!machine.initrd.empty()) add(arguments, {"-initrd", machine.initrd.string()});
  return arguments;
}

Arguments sockets_of(const Machine& machine) {
  const auto socket = [](const char* id, const char* path) {
    return fmt::format("socket,id={},path={},server=on,wait=off", id, path);
  };
  return {"-chardev", "stdio,id=console,signal=off",
          "-serial",  "chardev:console",
          "-chardev", socket("monitor", shim::kMonitorFile),
          "-mon",     "chardev=monitor,mode=control",
          "-chardev", socket("orders", shim::kOrdersFile),
          "-mon",     "chardev=orders,mode=control",
          "-device",  device(machine, "virtio-serial"),
          "-chardev", socket("exit-port", shim::kExitPortFile),
          "-device",  "virtserialport,chardev=exit-port,name=berth.exit",
          "-device",  "pvpanic"};
}

// Nothing is taken from the file's own header: who has written to it may have changed that, too.
std::string drive_of(const std::string& id, const Disk& disk) {
  std::string drive =
      fmt::format("if=none,id={},format={},discard=unmap,file.driver=file,file.filename={}", id,
                  name_of(disk.file.format), escaped(disk.file.path.string()));
  if (disk.base) {
    drive += fmt::format(",backing.driver={},backing.file.driver=file,backing.file.filename={}",
                         name_of(disk.base->format), escaped(disk.base->path.string()));
  }
  return drive;
}

// A guest is told of a full disk, as it would be of a broken one; it is not made to stand still.
Arguments disks_of(const Machine& machine) {
  Arguments arguments;
  for (std::size_t i = 0; i < machine.disks.size(); ++i) {
    const std::string id = fmt::format("disk{}", i);
    const std::string boot = is_small(machine) ? "" : fmt::format(",bootindex={}", i);
    add(arguments, {"-drive", drive_of(id, machine.disks[i]), "-device",
                    fmt::format("{},drive={},serial={},werror=report,rerror=report{}",
                                device(machine, "virtio-blk"), id, machine.disks[i].serial, boot)});
  }
  return arguments;
}

// As good for TCP as for UDP: whoever listens knows which.
std::string user_network(const Machine& machine) {
  std::string network = "user,id=network";
  for (const std::uint16_t port : machine.ports) {
    for (const char* protocol : {"tcp", "udp"}) {
      network += fmt::format(",hostfwd={}:127.0.0.1:{}-:{}", protocol, port, port);
    }
  }
  return network;
}

Arguments network_of(const Machine& machine) {
  std::string card = device(machine, "virtio-net") + ",netdev=network";
  if (!is_small(machine)) card += ",romfile=";
  if (!machine.network) return {"-netdev", user_network(machine), "-device", card};
  return {"-netdev", fmt::format("tap,id=network,ifname={},script=no,downscript=no", kGuestDevice),
          "-device",
          fmt::format("{},mac={},host_mtu={}", card, machine.network->mac, machine.network->mtu)};
}

Arguments given_of(const Machine& machine) {
  Arguments arguments;
  for (const auto& [name, file] : machine.given) {
    add(arguments,
        {"-fw_cfg", fmt::format("name=opt/berth/{},file={}", name, escaped(file.string()))});
  }
  return arguments;
}

}  // namespace

// What the emulator has for all who have no network of their own.
std::string ip_without_network(const std::string& host_name) {
  return fmt::format("10.0.2.15::10.0.2.2:255.255.255.0:{}:eth0:off:10.0.2.3", host_name);
}

std::vector<std::string> to_arguments(const Machine& machine) {
  Arguments arguments = frame_of(machine);
  for (const auto& part : {kernel_of, sockets_of, disks_of, network_of, given_of}) {
    add(arguments, part(machine));
  }
  return arguments;
}

std::int64_t ram_mib_of(const model::Item& item) {
  if (!item.quotas.ram) return kDefaultRamMib;
  return std::max<std::int64_t>(1, item.quotas.ram->count() / kMib);
}

std::int64_t processors_of(const model::Item& item, std::int64_t dmips_per_core) {
  if (!item.quotas.cpu || dmips_per_core <= 0) return 1;
  const std::int64_t wanted = item.quotas.cpu->count();
  return std::clamp<std::int64_t>((wanted + dmips_per_core - 1) / dmips_per_core, 1,
                                  kProcessorsMax);
}

}  // namespace berth::runtime
