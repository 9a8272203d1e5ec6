#include "runtime/shim/machine.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace berth::runtime::shim {
namespace {

constexpr int kStepMs = 5;
constexpr int kConnectSteps = 60'000 / kStepMs;
constexpr std::size_t kLineBytesMax = 64 << 10;
constexpr std::size_t kExitBytesMax = 16;

Fd connect_to(const char* name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, name, sizeof address.sun_path - 1);
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return {};
  }
  return socket;
}

// It is not waited for: its status is for who does that.
bool has_ended(pid_t process) {
  siginfo_t how{};
  return ::waitid(P_PID, static_cast<id_t>(process), &how, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         how.si_pid == process;
}

// What there is now; the descriptor is closed at its end.
std::string take(Fd& from) {
  std::string text;
  char part[4096];
  while (from.is_open()) {
    const ssize_t got = ::read(from.get(), part, sizeof part);
    if (got > 0) {
      text.append(part, static_cast<std::size_t>(got));
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      if (got == 0 || errno != EAGAIN) from.reset();
      break;
    }
  }
  return text;
}

bool has(std::string_view line, std::string_view words) {
  return line.find(words) != std::string_view::npos;
}

}  // namespace

bool Machine::connect(pid_t emulator) {
  for (int i = 0; i < kConnectSteps && !has_ended(emulator); ++i) {
    if (!monitor_.is_open()) monitor_ = connect_to(kMonitorFile);
    if (monitor_.is_open() && !exit_port_.is_open()) exit_port_ = connect_to(kExitPortFile);
    listen();
    if (is_made_ && exit_port_.is_open()) return true;
    pollfd source{monitor_.get(), POLLIN, 0};
    ::poll(&source, 1, kStepMs);
  }
  return false;
}

void Machine::listen() {
  heard_ += take(monitor_);
  for (std::size_t end = heard_.find('\n'); end != std::string::npos; end = heard_.find('\n')) {
    hear(std::string_view(heard_).substr(0, end));
    heard_.erase(0, end + 1);
  }
  if (heard_.size() > kLineBytesMax) heard_.clear();
  exit_text_ += take(exit_port_);
  if (exit_text_.size() > kExitBytesMax) exit_text_.erase(0, exit_text_.size() - kExitBytesMax);
}

// Its greeting comes from a thread that lives before the machine is made; answers do not.
void Machine::hear(std::string_view line) {
  if (has(line, "\"QMP\"")) order("qmp_capabilities");
  if (has(line, "\"return\"")) is_made_ = true;
  if (has(line, "\"event\": \"GUEST_PANICKED\"")) end_ = End::Panicked;
  if (end_ != End::None || !has(line, "\"event\": \"SHUTDOWN\"")) return;
  if (has(line, "\"guest-shutdown\"")) end_ = End::PoweredOff;
  if (has(line, "\"guest-reset\"")) end_ = End::Reset;
  if (has(line, "\"guest-panic\"")) end_ = End::Panicked;
}

void Machine::power_down() {
  order("cont");
  order("system_powerdown");
}

// A monitor that takes nothing any more has either ended or will be killed at the end of the grace.
void Machine::order(std::string_view command) {
  const std::string line = "{\"execute\": \"" + std::string(command) + "\"}\n";
  static_cast<void>(::send(monitor_.get(), line.data(), line.size(), MSG_NOSIGNAL));
}

std::optional<Ending> Machine::ending() const {
  switch (end_) {
    case End::None: return std::nullopt;
    case End::Panicked:
      return Ending{1, "GuestPanicked", "the kernel of the guest gave up; the log may say why"};
    case End::Reset:
      return Ending{1, "GuestReset", "the guest restarted itself, or its kernel gave up"};
    case End::PoweredOff: break;
  }
  const auto code = parse_number(exit_text_);
  return Ending{.code = code && *code < 256 ? static_cast<std::int32_t>(*code) : 0};
}

}  // namespace berth::runtime::shim
