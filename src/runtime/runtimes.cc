#include "runtime/runtimes.h"

#include <sys/stat.h>

#include "runtime/component/component_runtime.h"
#include "runtime/container/container_runtime.h"
#include "runtime/process/process_runtime.h"
#include "runtime/vm/vm_runtime.h"

namespace berth::runtime {
namespace {

// Shims have a working directory of their own.
std::filesystem::path from_root(const std::filesystem::path& path) {
  std::error_code error;
  return path.is_absolute() ? path : std::filesystem::current_path(error) / path;
}

}  // namespace

std::unique_ptr<Runtime> make_runtime(const MachineConfig& config, const RuntimeSpec& spec,
                                      RunListener& listener) {
  MachineConfig machine = config;
  machine.state_dir = from_root(config.state_dir);
  machine.image_dir = from_root(config.image_dir);
  machine.shim = from_root(config.shim);
  auto& components = machine.components.directory;
  if (!components.empty()) components = from_root(components);
  ::mkdir(machine.state_dir.c_str(), 0711);
  ::mkdir((machine.state_dir / "runs").c_str(), 0700);
  std::error_code ignored;  // earlier releases have kept there what they tried runtimes with
  std::filesystem::remove_all(machine.state_dir / ("probe-" + spec.id.value()), ignored);
  switch (spec.type) {
    case model::RuntimeType::Process:
      return std::make_unique<ProcessRuntime>(machine, spec.id, listener);
    case model::RuntimeType::Runc:
    case model::RuntimeType::Crun:
      return std::make_unique<ContainerRuntime>(machine, spec, listener);
    case model::RuntimeType::Vm: return std::make_unique<VmRuntime>(machine, spec, listener);
    case model::RuntimeType::Rootfs:
    case model::RuntimeType::Boot:
    case model::RuntimeType::Firmware:
      return std::make_unique<ComponentRuntime>(machine, spec, listener);
    default: return nullptr;
  }
}

}  // namespace berth::runtime
