#include "runtime/probing/platform.h"

#include <fcntl.h>
#include <sys/utsname.h>

#include <string>
#include <string_view>

#include "runtime/shim/files.h"

namespace berth::runtime {
namespace {

struct Architecture {
  std::string_view machine;
  const char* arch;
  const char* variant;
};
constexpr Architecture kArchitectures[] = {
    {"x86_64", "amd64", ""}, {"aarch64", "arm64", ""}, {"armv7l", "arm", "v7"},
    {"armv6l", "arm", "v6"}, {"i686", "386", ""},      {"riscv64", "riscv64", ""},
};

// VERSION_ID="12"
std::string os_version() {
  const auto text = shim::read_file(AT_FDCWD, "/usr/lib/os-release", 64 << 10);
  constexpr std::string_view kName = "\nVERSION_ID=";
  const std::size_t at = text ? text->find(kName) : std::string::npos;
  if (at == std::string::npos) return "";
  std::string value = text->substr(at + kName.size());
  value.resize(std::min(value.size(), value.find('\n')));
  std::erase(value, '"');
  return value;
}

}  // namespace

model::Platform platform_of_machine() {
  utsname machine{};
  ::uname(&machine);
  model::Platform platform{.os = "linux", .arch = machine.machine, .os_version = os_version()};
  for (const Architecture& known : kArchitectures) {
    if (known.machine != machine.machine) continue;
    platform.arch = known.arch;
    platform.variant = known.variant;
  }
  return platform;
}

}  // namespace berth::runtime
