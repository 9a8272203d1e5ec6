#include "runtime/vm/emulator.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

#include "base/time.h"
#include "runtime/shim/files.h"
#include "runtime/supervision/command.h"

#ifdef __x86_64__
#include <x86intrin.h>
#endif

namespace berth::runtime {
namespace {

constexpr char kDevice[] = "/dev/kvm";

constexpr Duration kTrialTime = 10s;

std::string with_cause(const char* what) {
  return fmt::format("{} {}: {}", kDevice, what, std::strerror(errno));
}

// The last 64 KiB below 4 GiB: the processor begins 16 bytes before their end. It says 16 on the
// port of a device that ends the emulator, which makes twice that and one of it:
//   mov al, 16; out 0xf4, al; hlt
constexpr std::size_t kFirmwareBytes = 64 << 10;
constexpr std::size_t kFirstInstruction = kFirmwareBytes - 16;
constexpr std::string_view kCode = "\xb0\x10\xe6\xf4\xf4";
constexpr char kExitDevice[] = "isa-debug-exit,iobase=0xf4,iosize=0x04";
constexpr int kExitCode = 33;

Result<void> write_guest(const std::filesystem::path& guest) {
  std::string firmware(kFirmwareBytes, kCode.back());
  firmware.replace(kFirstInstruction, kCode.size(), kCode);
  if (shim::read_file(AT_FDCWD, guest.c_str(), kFirmwareBytes) == firmware) return {};
  if (shim::write_file(AT_FDCWD, guest.c_str(), firmware, shim::Durable::No)) return {};
  return Error{Code::Unavailable,
               fmt::format("cannot write {}: {}", guest.string(), std::strerror(errno))};
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Result<void> run_guest(const std::string& program, const std::filesystem::path& guest,
                       const std::string& accelerator, const std::string& processor) {
  const auto outcome =
      TRY(run_command({program, "-machine", "microvm", "-accel", accelerator, "-cpu", processor,
                       "-m", "16M", "-nodefaults", "-no-user-config", "-display", "none", "-bios",
                       guest.string(), "-device", kExitDevice},
                      kTrialTime));
  if (outcome.code == kExitCode) return {};
  const std::string words = last_words(outcome.output);
  return Error{Code::Unavailable,
               fmt::format("{} -accel {} ended with {}{}{}", program, accelerator, outcome.code,
                           words.empty() ? "" : ": ", words)};
}

#ifdef __x86_64__

struct Instant {
  std::uint64_t ticks = 0;
  std::chrono::steady_clock::time_point time;
};

// Both read as close together as can be: a thread may lose its processor in between.
Instant read_both() {
  Instant best;
  std::uint64_t closest = UINT64_MAX;
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t before = __rdtsc();
    const auto time = std::chrono::steady_clock::now();
    const std::uint64_t after = __rdtsc();
    if (after - before >= closest) continue;
    closest = after - before;
    best = {before + closest / 2, time};
  }
  return best;
}

std::uint64_t measure_khz() {
  const Instant from = read_both();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const Instant to = read_both();
  const auto nanoseconds =
      std::chrono::duration_cast<std::chrono::nanoseconds>(to.time - from.time).count();
  return static_cast<std::uint64_t>(static_cast<double>(to.ticks - from.ticks) * 1e6 /
                                    static_cast<double>(nanoseconds));
}

#else

std::uint64_t measure_khz() { return 0; }

#endif

}  // namespace

std::string why_no_kvm() {
  const shim::Fd device(::open(kDevice, O_RDWR | O_CLOEXEC));
  if (!device.is_open()) return with_cause("cannot be opened");
  const shim::Fd machine(::ioctl(device.get(), KVM_CREATE_VM, 0));
  return machine.is_open() ? "" : with_cause("makes no machine");
}

Result<Emulator> try_emulator(const std::string& program, const std::filesystem::path& guest) {
  TRY(write_guest(guest));
  Emulator emulator{.program = program, .why_not_accelerated = why_no_kvm()};
  if (emulator.why_not_accelerated.empty()) {
    const auto ran = run_guest(program, guest, "kvm", "host");
    emulator.is_accelerated = ran.has_value();
    if (ran) return emulator;
    emulator.why_not_accelerated = fmt::format("KVM makes machines and does not run them: {}",
                                               first_line(ran.error().message));
  }
  TRY(run_guest(program, guest, "tcg", "max"));
  return emulator;
}

std::uint64_t time_stamp_khz() {
  static const std::uint64_t measured = measure_khz();
  return measured;
}

}  // namespace berth::runtime
